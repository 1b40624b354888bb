// Compiled code on disk, by what it was compiled from: for the next process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace antichain {

/// A folder of files that any number of processes may read and write at the same time. A file is
/// put into its place whole, and holds a digest of its contents: what is not as it was written is
/// taken away and counts as missing. What goes wrong with the disk costs time, never more.
class CodeCache {
 public:
  static constexpr std::uintmax_t kMaxBytes = 256 << 20;

  /// An empty path keeps nothing.
  explicit CodeCache(std::filesystem::path folder, std::uintmax_t max_bytes = kMaxBytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  /// Returns what was stored under a key, which is made of hexadecimal digits.
  std::optional<std::string> load(const std::string& key) const;
  /// Stores bytes, and removes the files that were used longest ago when there are too many.
  void store(const std::string& key, const std::string& bytes) const;

 private:
  std::filesystem::path path_of(const std::string& key) const { return folder_ / (key + ".o"); }
  void make_room() const;

  std::filesystem::path folder_;
  std::uintmax_t max_bytes_;
};

/// Returns $ANTICHAIN_CACHE, else "antichain" in the user's folder for caches; empty when the
/// variable is set to nothing or there is no such folder.
std::filesystem::path default_cache_folder();

}  // namespace antichain
