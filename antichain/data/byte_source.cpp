#include "antichain/data/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/data/packed_source.h"

namespace antichain::data {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) : ByteSource(path.string()) {
    std::error_code reason;
    const auto kind = std::filesystem::status(path, reason);
    require<DataError>(kind.type() != std::filesystem::file_type::not_found, "there is no file {}",
                       name());
    if (reason) {  // a loop of links, a folder that may not be entered
      fail_on_file("read", path, reason.value());
    }
    require<DataError>(std::filesystem::is_regular_file(kind), "{} is not a file", name());
    file_.reset(std::fopen(path.c_str(), "rbe"));
    if (file_ == nullptr) {
      fail_on_file("read", path, errno);
    }
  }
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::fread(to.data(), 1, to.size(), file_.get());
    const int reason = errno;
    if (std::ferror(file_.get()) != 0) {
      fail_on_file("read", name(), reason);
    }
    return count;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : ByteSource(std::move(name)), rest_(bytes) {}
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min(to.size(), rest_.size());
    std::copy_n(rest_.begin(), count, to.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> rest_;
};

// Bytes that were looked at, then the rest of the source that they came from.
class PeekedSource final : public ByteSource {
 public:
  PeekedSource(std::vector<std::byte> first, std::unique_ptr<ByteSource> rest)
      : ByteSource(rest->name()), first_(std::move(first)), rest_(std::move(rest)) {}
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min(to.size(), first_.size() - used_);
    std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(used_), count, to.begin());
    used_ += count;
    return count + rest_->read(to.subspan(count));
  }

 private:
  std::vector<std::byte> first_;
  std::size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

constexpr std::array kGzip = {std::byte{0x1F}, std::byte{0x8B}};
constexpr std::array kXz = {std::byte{0xFD}, std::byte{'7'}, std::byte{'z'},
                            std::byte{'X'},  std::byte{'Z'}, std::byte{0}};

bool starts_with(std::span<const std::byte> bytes, std::span<const std::byte> magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> source) {
  std::vector<std::byte> first(kXz.size());
  first.resize(source->read(first));
  const bool gzip = starts_with(first, kGzip), xz = starts_with(first, kXz);
  auto whole = std::make_unique<PeekedSource>(std::move(first), std::move(source));
  if (gzip) {
    return unpack_gzip(std::move(whole));
  }
  if (xz) {
    return unpack_xz(std::move(whole));
  }
  return whole;
}

}  // namespace

PackedSource::PackedSource(std::unique_ptr<ByteSource> packed)
    : ByteSource(packed->name()), packed_(std::move(packed)), buffer_(kBufferBytes) {}

std::size_t PackedSource::read(std::span<std::byte> to) {
  std::span<std::byte> output = to;
  while (!output.empty() && !finished_) {
    if (input_.empty() && !input_ended_) {
      input_ = std::span(buffer_).first(packed_->read(buffer_));
      input_ended_ = input_.size() < buffer_.size();
    }
    finished_ = unpack(input_, output, input_ended_);
  }
  return to.size() - output.size();
}

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path) {
  return unpacked(std::make_unique<FileSource>(path));
}

std::unique_ptr<ByteSource> open_memory(std::string name, std::span<const std::byte> bytes) {
  return unpacked(std::make_unique<MemorySource>(std::move(name), bytes));
}

void read_exactly(ByteSource& source, std::span<std::byte> to, const char* what) {
  const std::size_t count = source.read(to);
  require<DataError>(count == to.size(), "{} breaks off in {}: {} bytes are missing", source.name(),
                     what, to.size() - count);
}

void require_end(ByteSource& source) {
  std::array<std::byte, 1> more{};
  require<DataError>(source.read(more) == 0, "{} goes on after what it says it holds",
                     source.name());
}

}  // namespace antichain::data
