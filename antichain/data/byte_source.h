// ByteSource: bytes of a file, one after the other, unpacked on the way if the file is packed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace antichain::data {

class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Reads up to `to.size()` bytes and returns how many; fewer only at the end. Throws DataError
  /// when the file cannot be read, is damaged or breaks off.
  virtual std::size_t read(std::span<std::byte> to) = 0;
  /// Names the file, for messages.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Opens a plain, gzip or xz file, told apart by its first bytes.
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);
/// Reads what lies in memory, plain or packed; the memory must outlive the source.
std::unique_ptr<ByteSource> open_memory(std::string name, std::span<const std::byte> bytes);

/// Fills `to`; throws DataError when the source ends before, naming `what` is missing.
void read_exactly(ByteSource& source, std::span<std::byte> to, const char* what);
/// Throws DataError unless the source has come to its end.
void require_end(ByteSource& source);

}  // namespace antichain::data
