// How many threads can run at the same time, as far as this process is concerned.
#pragma once

#include <filesystem>
#include <optional>

namespace antichain {

/// Returns how many cores this process may use: those of its affinity mask, but no more than the
/// CPU time that its control group (a container's `--cpus`) gives it, rounded up. At least 1.
int usable_cores();
/// The same for a process whose affinity mask has so many cores.
int usable_cores(int cores_of_mask);

/// Returns the limit that a control group below `root` (`/sys/fs/cgroup`) sets, in cores; none
/// where it sets no limit. `group` is the process's own path, as in /proc/self/cgroup.
std::optional<double> cgroup_cores(const std::filesystem::path& root,
                                   const std::filesystem::path& group);

}  // namespace antichain
