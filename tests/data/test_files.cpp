#include "tests/data/test_files.h"

#include <fmt/format.h>

#include <array>

#include "antichain/base/error.h"
#ifdef ANTICHAIN_HAS_ZLIB
#include <zlib.h>
#endif
#ifdef ANTICHAIN_HAS_LZMA
#include <lzma.h>
#endif

namespace antichain::data {

std::string read_all(ByteSource& source) {
  std::string all;
  std::array<char, 1000> buffer{};
  while (const std::size_t count = source.read(std::as_writable_bytes(std::span(buffer)))) {
    all.append(buffer.data(), count);
  }
  return all;
}

std::unique_ptr<ByteSource> open_text(std::string_view text) {
  return open_memory("file", std::as_bytes(std::span(text)));
}

#ifdef ANTICHAIN_HAS_ZLIB
std::string gzip(std::string_view content) {
  z_stream stream = {};
  constexpr int kGzip = 16, kMemory = 8;
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemory,
               Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ensure(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib does not pack");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}
#endif

#ifdef ANTICHAIN_HAS_LZMA
std::string xz(std::string_view content) {
  std::string packed(lzma_stream_buffer_bound(content.size()), '\0');
  std::size_t size = 0;
  ensure(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, nullptr,
                                 reinterpret_cast<const std::uint8_t*>(content.data()),
                                 content.size(), reinterpret_cast<std::uint8_t*>(packed.data()),
                                 &size, packed.size()) == LZMA_OK,
         "liblzma does not pack");
  packed.resize(size);
  return packed;
}
#endif

std::string idx_file(int type, std::initializer_list<int> shape, std::string_view elements) {
  std::string file = {0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (const int size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      file += static_cast<char>(static_cast<unsigned>(size) >> shift & 0xFF);
    }
  }
  return file + std::string(elements);
}

std::string npy_file(std::string_view descr, std::string_view shape, std::string_view elements,
                     bool fortran_order, int version) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                                   fortran_order ? "True" : "False", shape);
  header += std::string(117 - header.size() % 118, ' ') + '\n';
  std::string file = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(header.size() >> 8 * i & 0xFF);
  }
  return file + header + std::string(elements);
}

std::string tar_file(std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
  std::string archive;
  for (const auto& [name, content] : files) {
    std::string header(512, '\0');
    const auto put = [&](std::size_t at, std::string_view text) {
      header.replace(at, text.size(), text);
    };
    put(0, name);
    put(124, fmt::format("{:011o}", content.size()));
    put(148, "        ");
    put(156, "0");
    put(257, std::string_view("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : header) {
      sum += static_cast<unsigned char>(c);
    }
    put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
    archive += header + std::string(content);
    archive.resize((archive.size() + 511) / 512 * 512);
  }
  return archive + std::string(1024, '\0');
}

WithVariable::WithVariable(const char* name, const char* value) : name_(name) {
  if (const char* const found = std::getenv(name)) {
    before_ = found;
  }
  set(value);
}

WithVariable::~WithVariable() { set(before_ ? before_->c_str() : nullptr); }

void WithVariable::set(const char* value) const {
  if (value != nullptr) {
    setenv(name_, value, 1);
  } else {
    unsetenv(name_);
  }
}

}  // namespace antichain::data
