#include "antichain/session/calibration.h"

#include <algorithm>
#include <chrono>

#include "antichain/backends/cpu/scans/scan_costs.h"
#include "antichain/base/code_cache.h"
#include "antichain/base/cpu_time.h"
#include "antichain/base/error.h"
#include "antichain/base/usable_cores.h"

namespace antichain {

namespace {

// Kernel threads and the like take less than a hundredth; one busy thread beside ours, a third and
// more on two cores, and on many the core that it shares with one of ours for a while.
constexpr double kMostWaiting = 0.1;
constexpr auto kWatching = std::chrono::milliseconds(50);

void require_idle_machine() {
  const double waiting = waiting_share(usable_cores(), kWatching);
  require<DeviceError>(
      waiting <= kMostWaiting,
      "calibrate: this machine is busy, a thread waited for a core {:.0f} % of the "
      "time; nothing was stored, run it again when the machine is idle",
      100 * waiting);
}

cpu::ScanCosts measure(bool on_busy_machine) {
  if (on_busy_machine) {
    return cpu::measure_scan_costs();
  }
  require_idle_machine();
  const cpu::ScanCosts costs = cpu::measure_scan_costs();
  require_idle_machine();  // somebody may have begun meanwhile
  return costs;
}

}  // namespace

Calibration calibrate(const CalibrationOptions& options) {
  const std::filesystem::path folder = default_cache_folder();
  require(!folder.empty(),
          "calibrate: there is no folder to keep the results in; ANTICHAIN_CACHE names one");
  Calibration calibration{.costs = {}, .file = cpu::scan_costs_file(folder)};
  if (options.again || !std::filesystem::exists(calibration.file)) {
    const cpu::ScanCosts costs = measure(options.on_busy_machine);
    std::filesystem::create_directories(folder);
    cpu::save_scan_costs(calibration.file, costs);
    calibration.measured = true;
  }
  const cpu::ScanCosts costs = cpu::load_scan_costs(calibration.file);
  for (const cpu::NamedScanCost& named : cpu::kScanCosts) {
    calibration.costs.push_back({named.name, named.what, costs.*named.cost});
  }
  return calibration;
}

}  // namespace antichain
