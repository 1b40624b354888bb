#include "antichain/base/error.h"
#include "antichain/data/packed_source.h"

#ifdef ANTICHAIN_HAS_ZLIB

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace antichain::data {

namespace {

uInt piece(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

// A gzip file is one or more members, one after the other (RFC 1952).
class GzipSource final : public PackedSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed) : PackedSource(std::move(packed)) {
    constexpr int kGzipOnly = 16;  // added to the window bits: a gzip header is expected
    ensure(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK, "zlib does not start");
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

 protected:
  bool unpack(std::span<std::byte>& input, std::span<std::byte>& output, bool last) override {
    if (input.empty() && last) {
      require<DataError>(member_ended_, "{} breaks off: the gzip stream is not complete", name());
      return true;
    }
    if (member_ended_) {
      inflateReset(&stream_);
      member_ended_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(input.data());
    stream_.avail_in = piece(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output.data());
    stream_.avail_out = piece(output.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    require<DataError>(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR,
                       "{} is damaged: {}", name(),
                       stream_.msg != nullptr ? stream_.msg : "not a gzip stream");
    member_ended_ = result == Z_STREAM_END;
    input =
        input.last(input.size() - static_cast<std::size_t>(stream_.next_in -
                                                           reinterpret_cast<Bytef*>(input.data())));
    output = output.last(
        output.size() -
        static_cast<std::size_t>(stream_.next_out - reinterpret_cast<Bytef*>(output.data())));
    return false;
  }

 private:
  z_stream stream_ = {};
  bool member_ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<GzipSource>(std::move(packed));
}

}  // namespace antichain::data

#else

namespace antichain::data {

std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed) {
  fail<NotSupported>("{} is packed with gzip, and this build is without zlib; unpack it by gunzip",
                     packed->name());
}

}  // namespace antichain::data

#endif
