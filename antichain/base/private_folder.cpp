#include "antichain/base/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

namespace antichain {

namespace {

constexpr mode_t kOnlyTheUser = 0700, kOnlyTheUsersFile = 0600, kOthers = 0077;
constexpr const char* kAsideEnding = ".tmp";

class HeldFile {
 public:
  explicit HeldFile(int file) : file_(file) {}
  ~HeldFile() {
    if (file_ >= 0) {
      ::close(file_);
    }
  }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

bool is_the_users_file(const struct stat& found) {
  return S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
}

bool put_all(int file, const std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno != EINTR) {
      return false;
    }
    at += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  return true;
}

std::optional<std::string> take_all(int file, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t at = 0;
  while (at < bytes) {
    const ssize_t count = ::read(file, text.data() + at, bytes - at);
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return std::nullopt;
    }
    at += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  return text;
}

}  // namespace

PrivateFolder::PrivateFolder(const std::filesystem::path& path) {
  std::error_code failed;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), failed);
  }
  ::mkdir(path.c_str(), kOnlyTheUser);
  folder_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat found = {};
  if (folder_ < 0 || ::fstat(folder_, &found) != 0) {
    if (const int reason = errno; reason == ELOOP || reason == ENOTDIR) {
      refusal_ = fmt::format("'{}' is not used: it is no folder", path.string());
    }
  } else if (found.st_uid != ::geteuid()) {
    refusal_ = fmt::format("'{}' is not used: it belongs to somebody else", path.string());
  } else if ((found.st_mode & kOthers) != 0) {
    refusal_ =
        fmt::format("'{}' is not used: others may enter it (chmod 700 '{}' makes it private)",
                    path.string(), path.string());
  }
  if (folder_ >= 0 && !refusal_.empty()) {
    ::close(std::exchange(folder_, -1));
  }
}

PrivateFolder::~PrivateFolder() {
  if (folder_ >= 0) {
    ::close(folder_);
  }
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)), refusal_(std::move(other.refusal_)) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(refusal_, other.refusal_);
  return *this;
}

std::optional<std::string> PrivateFolder::read(const std::string& name,
                                               std::uintmax_t most_bytes) const {
  if (folder_ < 0) {
    return std::nullopt;
  }
  const HeldFile file(
      ::openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found = {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0 || !is_the_users_file(found) ||
      static_cast<std::uintmax_t>(found.st_size) > most_bytes) {
    return std::nullopt;
  }
  return take_all(file.get(), static_cast<std::size_t>(found.st_size));
}

bool PrivateFolder::write(const std::string& name, const std::string& bytes) const {
  if (folder_ < 0) {
    return false;
  }
  static std::atomic<int> counter = 0;
  const std::string aside = fmt::format("{}.{}.{}{}", name, ::getpid(), counter++, kAsideEnding);
  bool is_written = false;
  {
    const HeldFile file(::openat(folder_, aside.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 kOnlyTheUsersFile));
    if (file.get() < 0) {
      return false;
    }
    is_written = put_all(file.get(), bytes) && ::fsync(file.get()) == 0;
  }
  if (is_written && ::renameat(folder_, aside.c_str(), folder_, name.c_str()) == 0) {
    return true;
  }
  remove(aside);
  return false;
}

void PrivateFolder::remove(const std::string& name) const {
  if (folder_ >= 0) {
    ::unlinkat(folder_, name.c_str(), 0);
  }
}

void PrivateFolder::touch(const std::string& name) const {
  if (folder_ >= 0) {
    ::utimensat(folder_, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
}

std::vector<PrivateFolder::File> PrivateFolder::files() const {
  std::vector<File> found_files;
  // A descriptor of its own: the list is read from its beginning.
  const int copy = folder_ < 0 ? -1 : ::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(copy < 0 ? nullptr : ::fdopendir(copy),
                                                 &::closedir);
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  while (const dirent* const entry = list ? ::readdir(list.get()) : nullptr) {
    struct stat found = {};
    if (::fstatat(folder_, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_the_users_file(found)) {
      found_files.push_back({.name = entry->d_name,
                             .bytes = static_cast<std::uintmax_t>(found.st_size),
                             .used = found.st_mtim.tv_sec * kNanoseconds + found.st_mtim.tv_nsec});
    }
  }
  return found_files;
}

}  // namespace antichain
