// A folder that one process at a time may work in.
#pragma once

#include <filesystem>

namespace antichain {

/// Holds a folder until it is destroyed or its process ends, however that happens: a lock of the
/// system on the file "lock" in it, which stays.
class FolderLock {
 public:
  /// Throws DataError when somebody else holds the folder, in this process or another. Where the
  /// file system knows no locks, nothing is held.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace antichain
