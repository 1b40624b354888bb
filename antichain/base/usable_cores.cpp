#include "antichain/base/usable_cores.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

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

// The line "0::/a/b" of /proc/self/cgroup names the group of version 2.
std::filesystem::path own_group() {
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) {
      return line.substr(4);
    }
  }
  return {};
}

}  // namespace

std::optional<double> cgroup_cores(const std::filesystem::path& root,
                                   const std::filesystem::path& group) {
  // Every group on the way up may set a limit; the smallest holds.
  std::optional<double> least = cores_in_file(root / "cpu.max");
  std::filesystem::path folder = root;
  for (const std::filesystem::path& part : group) {
    folder /= part;
    if (const std::optional<double> cores = cores_in_file(folder / "cpu.max")) {
      least = least ? std::min(*least, *cores) : *cores;
    }
  }
  return least;
}

int usable_cores() { return usable_cores(cores_of_affinity()); }

int usable_cores(int cores_of_mask) {
  int cores = cores_of_mask;
  if (const std::optional<double> limit = cgroup_cores("/sys/fs/cgroup", own_group())) {
    cores = std::min(cores, static_cast<int>(std::ceil(*limit)));
  }
  return std::max(1, cores);
}

}  // namespace antichain
