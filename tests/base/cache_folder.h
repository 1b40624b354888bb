// A folder for caches of its own, for a test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace antichain {

/// Names the folder that this process and those it starts keep caches in as long as it lives; none
/// where the path is empty.
class CacheFolder {
 public:
  explicit CacheFolder(const std::filesystem::path& path) {
    if (const char* const before = std::getenv(kName)) {
      before_ = before;
    }
    ::setenv(kName, path.c_str(), 1);
  }
  ~CacheFolder() {
    if (before_) {
      ::setenv(kName, before_->c_str(), 1);
    } else {
      ::unsetenv(kName);
    }
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

 private:
  static constexpr const char* kName = "ANTICHAIN_CACHE";
  std::optional<std::string> before_;
};

}  // namespace antichain
