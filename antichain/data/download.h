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
  std::int64_t lowest_speed = 1;  // bytes per second, over so many seconds; 0: any
  std::int64_t speed_seconds = 60;
  std::function<void(std::int64_t received)> progress;
};

/// Downloads to target.part, goes on with one that is there and belongs to the user, checks size
/// and SHA-256, and renames it to the target. No message has a name or password that is in the
/// address. Throws NotSupported in a build without libcurl.
void download(const Download& wanted);

/// Returns an address without the name and password in it.
std::string shown_url(const std::string& url);

/// Returns the SHA-256 of a file.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace antichain::data
