#include "antichain/base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"

namespace antichain {

namespace {

class Handle {
 public:
  explicit Handle(const std::filesystem::path& path, int flags = 0)
      : file_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags)) {}
  ~Handle() {
    if (file_ >= 0) {
      ::close(file_);
    }
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

// Returns why it could not be read; 0 when it was. Shorter where it was cut off meanwhile.
int read_all(int file, std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = ::read(file, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) {
      return errno;
    }
    if (count == 0) {
      break;
    }
    at += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  text.resize(at);
  return 0;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uintmax_t most) {
  const Handle file(path);
  struct stat found = {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0) {
    fail_on_file("read", path, errno);
  }
  if (S_ISDIR(found.st_mode)) {
    fail_on_file("read", path, EISDIR);
  }
  require<DataError>(S_ISREG(found.st_mode), "cannot read '{}': it is no regular file",
                     path.string());
  const auto bytes = static_cast<std::uintmax_t>(found.st_size);
  require<DataError>(bytes <= most, "'{}' has {} bytes; at most {} are read", path.string(), bytes,
                     most);
  std::string text(bytes, '\0');
  if (const int reason = read_all(file.get(), text); reason != 0) {
    fail_on_file("read", path, reason);
  }
  return text;
}

std::optional<std::string> read_own_file(const std::filesystem::path& path, std::uintmax_t most) {
  constexpr mode_t kOthersWrite = 0022;
  const Handle file(path, O_NOFOLLOW);
  struct stat found = {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_uid != ::geteuid() || (found.st_mode & kOthersWrite) != 0 ||
      static_cast<std::uintmax_t>(found.st_size) > most) {
    return std::nullopt;
  }
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  return read_all(file.get(), text) == 0 ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace antichain
