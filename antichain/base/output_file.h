// Files that are written whole or not at all: what every writer of Antichain uses.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace antichain {

/// Whether to wait for somebody who reads a pipe that stands in the place of a file: where the user
/// has named it. One that somebody has put where Antichain writes by itself is refused.
enum class Pipes { refused, waited_for };

/// Collects bytes beside the place where a file shall be, and puts them there by commit(): flushed
/// to the disk first, then renamed. Whoever reads `path` finds the old file or the new one, also
/// when this process or the machine dies in between. Without commit() nothing is left behind.
///
/// Symbolic links are followed: what they point at is replaced, not they. What is no regular file
/// stays what it is and is written straight into, and so is an open file of this process
/// (/dev/stdout, /dev/fd/3).
class OutputFile {
 public:
  /// Throws DataError when the file cannot be made, MachineError when that is the machine's fault.
  explicit OutputFile(const std::filesystem::path& path, Pipes pipes = Pipes::refused);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void open_aside(unsigned mode);
  [[noreturn]] void fail_to_write(int reason);

  std::filesystem::path path_;    // as it was named, for messages
  std::filesystem::path target_;  // what links lead to
  std::filesystem::path aside_;   // empty: written straight
  int file_ = -1;
};

/// What asides begin with: a process that was killed may have left one behind.
inline constexpr std::string_view kAsidePrefix = ".antichain-";

/// Writes a file in one go.
void write_file(const std::filesystem::path& path, std::string_view text,
                Pipes pipes = Pipes::refused);
/// Makes a new folder in `parent`, under a name that begins with `prefix` and that nobody can know
/// beforehand, and returns its path.
std::filesystem::path make_folder_aside(const std::filesystem::path& parent,
                                        std::string_view prefix);
/// Returns such a name, for what is renamed.
std::string name_aside(std::string_view prefix);
/// Makes a folder; throws DataError where there is anything already, a link for example, which
/// leads who knows where.
void make_new_folder(const std::filesystem::path& path);
/// Flushes a folder to the disk: after that, renames inside it have happened for good.
void sync_folder(const std::filesystem::path& folder);

}  // namespace antichain
