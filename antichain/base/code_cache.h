// Compiled code on disk, by what it was compiled from: for the next process.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace antichain {

/// A folder of files that any number of processes of one user may read and write at the same time.
/// Code from it is run, so it is a PrivateFolder. A file is put into its place whole, and holds a
/// digest of its key and its contents: what is not as it was written, or lies under another name,
/// is taken away and counts as missing. What goes wrong with the disk costs time, never more. Only
/// files that a cache wrote are ever removed.
class CodeCache {
 public:
  static constexpr std::uintmax_t kMaxBytes = 256 << 20;

  /// An empty path keeps nothing.
  explicit CodeCache(const std::filesystem::path& folder, std::uintmax_t max_bytes = kMaxBytes);

  /// Returns what was stored under a key, which is made of hexadecimal digits.
  std::optional<std::string> load(const std::string& key) const;
  /// Stores bytes, and removes the files that were used longest ago when there are too many.
  void store(const std::string& key, const std::string& bytes) const;
  /// Forgets what was stored under a key: it turned out to be of no use.
  void remove(const std::string& key) const;

 private:
  struct LazyFolder;  // opened when something is first loaded or stored
  void make_room() const;

  std::shared_ptr<LazyFolder> folder_;  // none: nothing is kept
  std::uintmax_t max_bytes_;
};

/// Says why the folder for compiled code is not used although it is there, in one sentence; empty
/// where it is used or there is none.
std::string code_cache_refusal();

/// Returns $ANTICHAIN_CACHE, else "antichain" in the user's folder for caches; empty when the
/// variable is set to nothing or there is no such folder.
std::filesystem::path default_cache_folder();
/// Returns the folder for compiled code and measured choices in it, which nothing else is in.
std::filesystem::path default_code_folder();

}  // namespace antichain
