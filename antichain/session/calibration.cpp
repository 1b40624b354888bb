#include "antichain/session/calibration.h"

#include "antichain/backends/cpu/scan_costs.h"
#include "antichain/base/code_cache.h"
#include "antichain/base/error.h"

namespace antichain {

Calibration calibrate(bool again) {
  const std::filesystem::path folder = default_cache_folder();
  require(!folder.empty(),
          "calibrate: there is no folder to keep the results in; ANTICHAIN_CACHE names one");
  Calibration calibration{.costs = {}, .file = cpu::scan_costs_file(folder)};
  if (again || !std::filesystem::exists(calibration.file)) {
    std::filesystem::create_directories(folder);
    cpu::save_scan_costs(calibration.file, cpu::measure_scan_costs());
    calibration.measured = true;
  }
  const cpu::ScanCosts costs = cpu::load_scan_costs(calibration.file);
  for (const cpu::NamedScanCost& named : cpu::kScanCosts) {
    calibration.costs.push_back({named.name, named.what, costs.*named.cost});
  }
  return calibration;
}

}  // namespace antichain
