#include "antichain/base/usable_cores.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "antichain/base/control_group.h"

namespace antichain {

namespace {

int cores_of_affinity() {
#ifdef __linux__
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    return CPU_COUNT(&cores);
  }
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

// `cpu.max` of version 2: "200000 100000", or "max 100000" for no limit.
std::optional<double> cores_in_file(const std::filesystem::path& file) {
  std::ifstream text(file);
  double quota = 0, period = 0;
  if (text >> quota >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> cgroup_cores(const std::filesystem::path& root,
                                   const std::filesystem::path& group) {
  return smallest_limit(root, group, "cpu.max", cores_in_file);
}

int usable_cores() { return usable_cores(cores_of_affinity()); }

int usable_cores(int cores_of_mask) {
  int cores = cores_of_mask;
  if (const std::optional<double> limit = cgroup_cores("/sys/fs/cgroup", own_control_group())) {
    cores = std::min(cores, static_cast<int>(std::ceil(*limit)));
  }
  return std::max(1, cores);
}

}  // namespace antichain
