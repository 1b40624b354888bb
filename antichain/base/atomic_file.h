// Files that are written whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace antichain {

/// Collects bytes in "<path>.tmp" and puts them in the place of `path` by commit(): flushed to the
/// disk first, then renamed. Whoever reads `path` finds the old file or the new one, also when this
/// process or the machine dies in between. Without commit() nothing is left behind.
class AtomicFile {
 public:
  /// Throws DataError when the file cannot be made.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  std::filesystem::path path_, aside_;
  int file_ = -1;
};

/// Writes a file in one go.
void write_file(const std::filesystem::path& path, std::string_view text);
/// Flushes a folder to the disk: after that, renames inside it have happened for good.
void sync_folder(const std::filesystem::path& folder);

}  // namespace antichain
