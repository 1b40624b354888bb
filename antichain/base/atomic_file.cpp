#include "antichain/base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "antichain/base/error.h"

namespace antichain {

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), aside_(path_) {
  constexpr mode_t kEverybodyReads = 0644;
  aside_ += ".tmp";
  file_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kEverybodyReads);
  require<DataError>(file_ >= 0, "cannot write '{}': {}", path_.string(), std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) {
    ::close(file_);
    ::unlink(aside_.c_str());
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    require<DataError>(written >= 0, "cannot write '{}': {}", path_.string(), std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  ensure(file_ >= 0, "commit() was called twice");
  const bool flushed = ::fsync(file_) == 0;
  const int reason = errno;
  const bool closed = ::close(std::exchange(file_, -1)) == 0;
  if (!flushed || !closed || ::rename(aside_.c_str(), path_.c_str()) != 0) {
    const int why = flushed ? errno : reason;
    ::unlink(aside_.c_str());
    fail<DataError>("cannot write '{}': {}", path_.string(), std::strerror(why));
  }
  sync_folder(path_.parent_path());
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_folder(const std::filesystem::path& folder) {
  const int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  const bool flushed = handle >= 0 && ::fsync(handle) == 0;
  const int reason = errno;
  if (handle >= 0) {
    ::close(handle);
  }
  require<DataError>(flushed, "cannot flush the folder '{}': {}", folder.string(),
                     std::strerror(reason));
}

}  // namespace antichain
