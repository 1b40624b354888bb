#include "antichain/base/control_group.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace antichain {

// The line "0::/a/b" of /proc/self/cgroup names the group of version 2.
std::filesystem::path own_control_group() {
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) {
      return line.substr(4);
    }
  }
  return {};
}

std::optional<double> smallest_limit(const std::filesystem::path& root,
                                     const std::filesystem::path& group, const char* file,
                                     ReadLimit read) {
  std::optional<double> least = read(root / file);
  std::filesystem::path folder = root;
  for (const std::filesystem::path& part : group) {
    folder /= part;
    if (const std::optional<double> limit = read(folder / file)) {
      least = least ? std::min(*least, *limit) : *limit;
    }
  }
  return least;
}

}  // namespace antichain
