#include "antichain/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "antichain/base/file_error.h"

namespace antichain {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  constexpr mode_t kEverybodyReads = 0644;
  const std::filesystem::path path = folder / "lock";
  file_ =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kEverybodyReads);
  if (file_ < 0) {
    fail_on_file("write", path, errno);
  }
  while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    if (reason == EWOULDBLOCK) {
      ::close(file_);
      fail<DataError>("'{}' is in use: another training is running in it", folder.string());
    }
    if (reason != EINTR) {
      return;  // no locks here
    }
  }
}

FolderLock::~FolderLock() { ::close(file_); }

}  // namespace antichain
