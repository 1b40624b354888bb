// One file over HTTP. Private to the module.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace antichain::data {

struct Download {
  std::string url;
  std::filesystem::path target;
  std::int64_t bytes = 0;
  std::string sha256;
  std::function<void(std::int64_t received)> progress;
};

/// Downloads to target.part, goes on with one that is there, checks size and SHA-256, and renames
/// it to the target. Throws NotSupported in a build without libcurl.
void download(const Download& wanted);

/// Returns the SHA-256 of a file.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace antichain::data
