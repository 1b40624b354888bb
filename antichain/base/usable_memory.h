// How much memory this process may fill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace antichain {

/// Returns the bytes of the machine's memory, but no more than the control group (a container's
/// `--memory`) gives this process; what others have filled is not looked at.
std::int64_t usable_memory();

/// Returns the limit that a control group below `root` (`/sys/fs/cgroup`) sets, in bytes; none
/// where it sets no limit. `group` is the process's own path, as in /proc/self/cgroup.
std::optional<std::int64_t> cgroup_memory(const std::filesystem::path& root,
                                          const std::filesystem::path& group);

}  // namespace antichain
