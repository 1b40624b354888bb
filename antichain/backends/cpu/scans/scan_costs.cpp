#include "antichain/backends/cpu/scans/scan_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "antichain/backends/cpu/scans/scan_choice.h"
#include "antichain/backends/cpu/scans/scan_lanes.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/base/code_cache.h"
#include "antichain/base/input_file.h"
#include "antichain/base/output_file.h"

namespace antichain::cpu {

namespace {

constexpr int kRepeats = 9;  // of which the fastest counts: others had to wait
constexpr double kLeast = 1e-12;

// The instruction set that kernels are chosen for, and its loops.
struct Level {
  std::string_view name;
  const ScanLoops *columns = nullptr, *matrices = nullptr;
};

Level best_level() {
  Level best;
  for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    if (best.columns == nullptr && cpu_supports(kLevel).yes) {
      best = {name(kLevel), &scan_loops<kLevel>(false, DType::f32),
              &scan_loops<kLevel>(true, DType::f32)};
    }
  });
  return best;
}

template <class F>
double fastest(F f) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// One lane with values that neither grow nor vanish.
class Lane {
 public:
  Lane(std::int64_t steps, std::int64_t width, bool matrices)
      : shape_{.steps = steps,
               .places = matrices ? 1 : width,
               .size = matrices ? width : 1,
               .matrices = matrices,
               .columns = width},
        a_(static_cast<std::size_t>(steps * width * (matrices ? width : 1)),
           matrices ? 1.0F / static_cast<float>(width) : 0.5F),
        b_(static_cast<std::size_t>(steps * width), 0.5F),
        initial_(static_cast<std::size_t>(width), 1.0F),
        before_(b_.size()),
        last_(initial_.size()),
        state_(initial_.size()),
        maps_(shape_, 1) {}

  double seconds_per_step() {
    const ScanLanes lanes = make();
    return per_step(fastest([&] {
      lanes.start(0, state_.data());
      lanes.run(0, 0, shape_.steps, state_.data());
    }));
  }
  double seconds_per_product() {
    const ScanLanes lanes = make();
    return per_step(fastest([&] { lanes.multiply(0, 0, shape_.steps, maps_.at(0, 0)); }));
  }

 private:
  ScanLanes make() {
    return {shape_,          shape_.matrices ? *level_.matrices : *level_.columns,
            a_.data(),       b_.data(),
            initial_.data(), before_.data(),
            last_.data()};
  }
  double per_step(double seconds) const { return seconds / static_cast<double>(shape_.steps); }

  Level level_ = best_level();
  ScanShape shape_;
  std::vector<float> a_, b_, initial_, before_, last_;
  std::vector<double> state_;
  AffineMaps maps_;
};

}  // namespace

ScanCosts measure_scan_costs() {
  constexpr std::int64_t kSteps = 2000, kNarrow = 64, kWide = 1024, kSize = 16;
  const double narrow = Lane(kSteps, kNarrow, false).seconds_per_step(),
               wide = Lane(kSteps, kWide, false).seconds_per_step();
  Lane matrices(kSteps, kSize, true);
  const double walked = matrices.seconds_per_step(), product = matrices.seconds_per_product();
  ScanCosts costs;
  costs.column = std::max(kLeast, (wide - narrow) / static_cast<double>(kWide - kNarrow));
  costs.step = std::max(kLeast, narrow - costs.column * static_cast<double>(kNarrow));
  costs.entry = std::max(kLeast, (walked - costs.step) / static_cast<double>(kSize * kSize));
  costs.term = std::max(kLeast, product / static_cast<double>(kSize * kSize * kSize));
  costs.fork =
      std::max(kLeast, fastest([] { parallel_tasks(cores_of_machine(), [](std::int64_t) {}); }));
  return costs;
}

std::filesystem::path scan_costs_file(const std::filesystem::path& folder) {
  return folder / fmt::format("scan_costs_{}_{}_cores.txt", best_level().name, cores_of_machine());
}

void save_scan_costs(const std::filesystem::path& file, const ScanCosts& costs) {
  std::string text;
  for (const NamedScanCost& named : kScanCosts) {
    text += fmt::format("{} {:.4g}\n", named.name, costs.*named.cost);
  }
  write_file(file, text);
}

ScanCosts load_scan_costs(const std::filesystem::path& file) {
  constexpr std::uintmax_t kMostBytes = 1 << 16;
  // Bits depend on it, so nobody else may have written it.
  std::istringstream lines(read_own_file(file, kMostBytes).value_or(""));
  ScanCosts costs;
  for (const NamedScanCost& named : kScanCosts) {
    std::string name;
    double seconds = 0;
    if (!(lines >> name >> seconds) || name != named.name || !std::isfinite(seconds) ||
        seconds <= 0) {
      return {};
    }
    costs.*named.cost = seconds;
  }
  return costs;
}

const ScanCosts& known_scan_costs() {
  static const ScanCosts costs = [] {
    const std::filesystem::path folder = default_cache_folder();
    return folder.empty() ? ScanCosts() : load_scan_costs(scan_costs_file(folder));
  }();
  return costs;
}

}  // namespace antichain::cpu
