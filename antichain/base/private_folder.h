// A folder whose files may be trusted as far as their user may be: nobody else can have put
// something into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace antichain {

/// A folder that its user alone may enter (mode 0700, owner the user of this process), held open,
/// so that it cannot be exchanged meanwhile. A folder that is missing is made; one that is not like
/// this is not used at all: nothing is read from it or written into it. No function throws: what
/// goes wrong counts as missing.
class PrivateFolder {
 public:
  /// Opens no folder.
  PrivateFolder() = default;
  explicit PrivateFolder(const std::filesystem::path& path);
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;

  bool is_open() const { return folder_ >= 0; }
  /// Says why a folder that is there is not used, in one sentence; empty when it is used or cannot
  /// be made.
  const std::string& refusal() const { return refusal_; }

  /// Returns the contents of a regular file that belongs to the user; no link is followed and no
  /// pipe waited for.
  std::optional<std::string> read(const std::string& name, std::uintmax_t most_bytes) const;
  /// Puts a file in its place, whole or not at all; returns whether it did.
  bool write(const std::string& name, const std::string& bytes) const;
  void remove(const std::string& name) const;
  /// Notes that a file was used just now.
  void touch(const std::string& name) const;

  struct File {
    std::string name;
    std::uintmax_t bytes;
    std::int64_t used;  // nanoseconds since 1970
  };
  /// Returns the regular files that belong to the user.
  std::vector<File> files() const;

 private:
  int folder_ = -1;
  std::string refusal_;
};

}  // namespace antichain
