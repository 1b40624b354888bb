#include "antichain/data/tar.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "antichain/base/error.h"

namespace antichain::data {

namespace {

constexpr std::size_t kBlock = 512;  // bytes; POSIX.1-1988, ustar
using Block = std::array<char, kBlock>;

class Member final : public ByteSource {
 public:
  Member(ByteSource& archive, const std::string& path, std::size_t size)
      : ByteSource(archive.name() + ":" + path), archive_(archive), left_(size) {}
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min(to.size(), left_);
    read_exactly(archive_, to.first(count), "a file of the archive");
    left_ -= count;
    return count;
  }
  std::size_t left() const { return left_; }

 private:
  ByteSource& archive_;
  std::size_t left_;
};

void skip(ByteSource& source, std::size_t bytes) {
  std::array<std::byte, kBlock> unused{};
  while (bytes > 0) {
    const std::size_t count = std::min(bytes, unused.size());
    read_exactly(source, std::span(unused).first(count), "a file of the archive");
    bytes -= count;
  }
}

// A field of the header: text up to the first zero.
std::string_view field(const Block& header, std::size_t offset, std::size_t size) {
  const std::string_view whole(header.data() + offset, size);
  return whole.substr(0, whole.find('\0'));
}

// Octal digits, with spaces around.
std::optional<std::size_t> octal(std::string_view text) {
  std::size_t value = 0;
  bool any = false;
  for (const char c : text) {
    if (c == ' ') {
      continue;
    }
    if (c < '0' || c > '7') {
      return std::nullopt;
    }
    value = value * 8 + static_cast<std::size_t>(c - '0');
    any = true;
  }
  return any ? std::optional(value) : std::nullopt;
}

bool checksum_fits(const Block& header) {
  constexpr std::size_t kOffset = 148, kSize = 8;  // of the checksum, which counts as spaces
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool inside = i >= kOffset && i < kOffset + kSize;
    sum += inside ? std::size_t{' '} : static_cast<unsigned char>(header[i]);
  }
  return octal(field(header, kOffset, kSize)) == sum;
}

}  // namespace

void visit_tar(ByteSource& archive,
               const std::function<void(const std::string& path, ByteSource& file)>& visit) {
  Block header{};
  while (true) {
    read_exactly(archive, std::as_writable_bytes(std::span(header)), "the list of files");
    if (std::all_of(header.begin(), header.end(), [](char c) { return c == 0; })) {
      return;
    }
    const std::optional<std::size_t> size = octal(field(header, 124, 12));
    require<DataError>(checksum_fits(header) && size, "{} is not a tar archive, or damaged",
                       archive.name());
    const char kind = header[156];
    const std::string_view prefix = field(header, 345, 155);
    const std::string path =
        (prefix.empty() ? "" : std::string(prefix) + "/") + std::string(field(header, 0, 100));
    Member member(archive, path, *size);
    if (kind == '0' || kind == '\0') {
      visit(path, member);
    }
    skip(archive, member.left() + (kBlock - *size % kBlock) % kBlock);
  }
}

}  // namespace antichain::data
