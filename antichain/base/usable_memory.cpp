#include "antichain/base/usable_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "antichain/base/control_group.h"

namespace antichain {

namespace {

// `memory.max` of version 2: "2147483648", or "max" for no limit.
std::optional<double> bytes_in_file(const std::filesystem::path& file) {
  std::ifstream text(file);
  double bytes = 0;
  return text >> bytes && bytes > 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> cgroup_memory(const std::filesystem::path& root,
                                          const std::filesystem::path& group) {
  const std::optional<double> bytes = smallest_limit(root, group, "memory.max", bytes_in_file);
  return bytes ? std::optional(static_cast<std::int64_t>(*bytes)) : std::nullopt;
}

std::int64_t usable_memory() {
  const std::int64_t all = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(all, cgroup_memory("/sys/fs/cgroup", own_control_group()).value_or(all));
}

}  // namespace antichain
