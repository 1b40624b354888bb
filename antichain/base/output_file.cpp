#include "antichain/base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <random>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/parse_number.h"

namespace antichain {

namespace {

namespace fs = std::filesystem;

constexpr mode_t kEverybodyReads = 0644, kPermissions = 0777;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Where a path leads.
struct Destination {
  fs::path path;                  // behind all links, also when there is nothing yet
  std::optional<int> descriptor;  // of this process, which the path names: /dev/stdout, /dev/fd/3
};

// An open file of this process has no place beside which another could be written.
std::optional<int> descriptor_called(const fs::path& path) {
  std::error_code other;
  const bool is_ours = fs::equivalent(folder_of(path), "/proc/self/fd", other) && !other;
  return is_ours ? parse_number<int>(path.filename().string()) : std::nullopt;
}

Destination followed(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  fs::path target = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    if (const std::optional<int> descriptor = descriptor_called(target)) {
      return {target, descriptor};
    }
    std::error_code no_link;
    const fs::path next = fs::read_symlink(target, no_link);
    if (no_link) {
      return {target, std::nullopt};
    }
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  fail_on_file("write", path, ELOOP);
}

int write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

OutputFile::OutputFile(const fs::path& path, Pipes pipes) : path_(path) {
  // Asked by the path as it was given: the system does not follow a link that somebody else has
  // put into a folder that all may write.
  struct stat found = {};
  const bool is_there = ::stat(path.c_str(), &found) == 0;
  if (!is_there && errno != ENOENT) {
    fail_on_file("write", path_, errno);
  }
  if (is_there && S_ISDIR(found.st_mode)) {
    fail_on_file("write", path_, EISDIR);
  }
  const Destination destination = followed(path);
  target_ = destination.path;
  if (destination.descriptor) {
    file_ = ::fcntl(*destination.descriptor, F_DUPFD_CLOEXEC, 0);  // shares its position, too
  } else if (!is_there || S_ISREG(found.st_mode)) {
    open_aside(is_there ? found.st_mode & kPermissions : kEverybodyReads);
  } else {
    require<DataError>(pipes == Pipes::waited_for || !S_ISFIFO(found.st_mode),
                       "cannot write '{}': there is a pipe in its place", path_.string());
    file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  }
  if (file_ < 0) {
    fail_on_file("write", path_, errno);
  }
}

void OutputFile::open_aside(unsigned mode) {
  aside_ = folder_of(target_) / (name_aside(kAsidePrefix) + ".tmp");
  file_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) {
    ::close(file_);
    if (!aside_.empty()) {
      ::unlink(aside_.c_str());
    }
  }
}

void OutputFile::fail_to_write(int reason) {
  if (file_ >= 0) {
    ::close(std::exchange(file_, -1));
  }
  if (!aside_.empty()) {
    ::unlink(aside_.c_str());
  }
  fail_on_file("write", path_, reason);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (const int reason = write_all(file_, bytes); reason != 0) {
    fail_to_write(reason);
  }
}

void OutputFile::commit() {
  ensure(file_ >= 0, "commit() was called twice");
  if (!aside_.empty() && ::fsync(file_) != 0) {
    fail_to_write(errno);
  }
  if (::close(std::exchange(file_, -1)) != 0) {
    fail_to_write(errno);
  }
  if (aside_.empty()) {
    return;
  }
  if (::rename(aside_.c_str(), target_.c_str()) != 0) {
    fail_to_write(errno);
  }
  sync_folder(folder_of(target_));
}

void write_file(const fs::path& path, std::string_view text, Pipes pipes) {
  OutputFile file(path, pipes);
  file.write(text);
  file.commit();
}

std::string name_aside(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", prefix, random(), random());
}

void make_new_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), kPermissions) != 0) {
    fail_on_file("make the folder", path, errno);
  }
}

fs::path make_folder_aside(const fs::path& parent, std::string_view prefix) {
  fs::path made = parent / name_aside(prefix);
  make_new_folder(made);
  return made;
}

void sync_folder(const fs::path& folder) {
  const int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) {
    if (errno == EACCES) {  // a folder that may be written, but not listed
      return;
    }
    fail_on_file("flush the folder", folder, errno);
  }
  const int reason = ::fsync(handle) == 0 ? 0 : errno;
  ::close(handle);
  if (reason != 0 && reason != EINVAL) {  // EINVAL: not on this file system
    fail_on_file("flush the folder", folder, reason);
  }
}

}  // namespace antichain
