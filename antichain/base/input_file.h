// Small files that are read in one go.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace antichain {

/// Returns what a regular file holds. Throws DataError in one sentence when there is none, when it
/// cannot be read, or when it has more than `most` bytes. What is no regular file, a pipe for
/// example, is never waited for.
std::string read_file(const std::filesystem::path& path, std::uintmax_t most);
/// Returns the same of a file that only the user of this process can have written; nothing when it
/// is anything else.
std::optional<std::string> read_own_file(const std::filesystem::path& path, std::uintmax_t most);

}  // namespace antichain
