#include "antichain/base/error.h"
#include "antichain/data/packed_source.h"

#ifdef ANTICHAIN_HAS_LZMA

#include <lzma.h>

namespace antichain::data {

namespace {

// `xz -9` needs 65 MiB to unpack; a file that asks for more than this is not one of ours.
constexpr std::uint64_t kMemoryLimit = std::uint64_t{256} << 20;  // bytes

class XzSource final : public PackedSource {
 public:
  explicit XzSource(std::unique_ptr<ByteSource> packed) : PackedSource(std::move(packed)) {
    ensure(lzma_stream_decoder(&stream_, kMemoryLimit, LZMA_CONCATENATED) == LZMA_OK,
           "liblzma does not start");
  }
  XzSource(const XzSource&) = delete;
  XzSource& operator=(const XzSource&) = delete;
  ~XzSource() override { lzma_end(&stream_); }

 protected:
  bool unpack(std::span<std::byte>& input, std::span<std::byte>& output, bool last) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    stream_.avail_in = input.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
    stream_.avail_out = output.size();
    const lzma_ret result = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    input = input.last(stream_.avail_in);
    output = output.last(stream_.avail_out);
    require<DataError>(result != LZMA_BUF_ERROR, "{} breaks off: the xz stream is not complete",
                       name());
    require<DataError>(result == LZMA_OK || result == LZMA_STREAM_END, "{} is damaged: {}", name(),
                       result == LZMA_MEMLIMIT_ERROR ? "it asks for too much memory"
                                                     : "the xz stream is not valid");
    return result == LZMA_STREAM_END;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

std::unique_ptr<ByteSource> unpack_xz(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<XzSource>(std::move(packed));
}

}  // namespace antichain::data

#else

namespace antichain::data {

std::unique_ptr<ByteSource> unpack_xz(std::unique_ptr<ByteSource> packed) {
  fail<NotSupported>("{} is packed with xz, and this build is without liblzma; unpack it by unxz",
                     packed->name());
}

}  // namespace antichain::data

#endif
