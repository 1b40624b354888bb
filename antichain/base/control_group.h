// The control group (version 2) of this process: what a container may use.
#pragma once

#include <filesystem>
#include <optional>

namespace antichain {

/// Returns the path of this process's group below /sys/fs/cgroup.
std::filesystem::path own_control_group();

/// Reads a limit from a file; none where it sets no limit or is not there.
using ReadLimit = std::optional<double> (*)(const std::filesystem::path& file);
/// Returns the smallest limit that the files of this name set in the groups from `root` down to
/// `group`: every group on the way may set one, and the smallest holds.
std::optional<double> smallest_limit(const std::filesystem::path& root,
                                     const std::filesystem::path& group, const char* file,
                                     ReadLimit read);

}  // namespace antichain
