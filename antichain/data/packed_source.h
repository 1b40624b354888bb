// Sources that unpack another source. Private to the module.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "antichain/data/byte_source.h"

namespace antichain::data {

/// Reads packed bytes in pieces and hands them to an unpacker.
class PackedSource : public ByteSource {
 public:
  explicit PackedSource(std::unique_ptr<ByteSource> packed);
  std::size_t read(std::span<std::byte> to) final;

 protected:
  /// Unpacks some of `input` into some of `output` and cuts off what was used of both; `last` says
  /// that no more input will come. Returns whether everything has been unpacked.
  virtual bool unpack(std::span<std::byte>& input, std::span<std::byte>& output, bool last) = 0;

 private:
  std::unique_ptr<ByteSource> packed_;
  std::vector<std::byte> buffer_;
  std::span<std::byte> input_;  // of the buffer, not unpacked yet
  bool input_ended_ = false, finished_ = false;
};

/// Unpacks gzip; throws NotSupported in a build without zlib.
std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed);
/// Unpacks xz; throws NotSupported in a build without liblzma.
std::unique_ptr<ByteSource> unpack_xz(std::unique_ptr<ByteSource> packed);

}  // namespace antichain::data
