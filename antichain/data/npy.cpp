#include "antichain/data/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string_view>

#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"
#include "antichain/data/tensor_reader.h"
#include "antichain/data/text_lines.h"

namespace antichain::data {

namespace {

constexpr std::size_t kMaxHeader = std::size_t{1} << 20;  // bytes; NumPy writes about a hundred
constexpr std::size_t kMaxRank = 32;                      // NumPy's own limit

struct Header {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// The header is a Python dict of three known keys; anything else in it is an error.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        header.descr = quoted();
        descr = true;
      } else if (key == "fortran_order" && !order) {
        header.fortran_order = truth();
        order = true;
      } else if (key == "shape" && !shape) {
        header.shape = tuple();
        shape = true;
      } else {
        refuse();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!rest_.empty() || !descr || !order || !shape) {
      refuse();
    }
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    fail<DataError>("{} has a .npy header that cannot be understood", file_);
  }
  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
  }
  bool accept(char c) {
    skip_spaces();
    const bool there = rest_.starts_with(c);
    rest_.remove_prefix(there ? 1 : 0);
    return there;
  }
  void expect(char c) {
    if (!accept(c)) {
      refuse();
    }
  }
  std::string quoted() {
    expect('\'');
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) {
      refuse();
    }
    return std::string(cut(rest_, "'"));
  }
  bool truth() {
    skip_spaces();
    const std::string_view word = rest_.substr(0, rest_.find_first_of(",} "));
    if (word != "True" && word != "False") {
      refuse();
    }
    rest_.remove_prefix(word.size());
    return word == "True";
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      const std::string_view digits = rest_.substr(0, rest_.find_first_of(",) "));
      const std::optional<std::int64_t> size = parse_number<std::int64_t>(digits);
      if (!size || *size < 0 || shape.size() == kMaxRank) {
        refuse();
      }
      rest_.remove_prefix(digits.size());
      shape.push_back(*size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view rest_;
  const std::string& file_;
};

std::size_t read_little_endian(ByteSource& source, std::size_t bytes) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    std::array<std::byte, 1> byte{};
    read_exactly(source, byte, "its header");
    value |= std::to_integer<std::size_t>(byte[0]) << 8 * i;
  }
  return value;
}

// Reads pairs of bytes as T and widens them.
template <class T>
Tensor read_narrow(ByteSource& source, const Shape& shape) {
  Shape bytes_shape = shape;
  bytes_shape.push_back(sizeof(T));
  const Tensor bytes = read_tensor(source, u8, bytes_shape);
  Tensor wide = Tensor::empty(i32, shape);
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    std::array<std::uint8_t, sizeof(T)> element{};
    std::copy_n(bytes.data<std::uint8_t>() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T),
                element.begin());
    wide.data<std::int32_t>()[i] = std::bit_cast<T>(element);
  }
  return wide;
}

Tensor read_elements(ByteSource& source, const std::string& descr, const Shape& shape) {
  struct Known {
    std::string_view descr;
    DType dtype;
  };
  constexpr std::array kKnown = {Known{"<f4", f32}, Known{"<f8", f64},    Known{"<f2", f16},
                                 Known{"|i1", i8},  Known{"<i4", i32},    Known{"<i8", i64},
                                 Known{"|u1", u8},  Known{"|b1", boolean}};
  for (const Known& known : kKnown) {
    if (known.descr == descr) {
      return read_tensor(source, known.dtype, shape);
    }
  }
  if (descr == "<i2") {
    return read_narrow<std::int16_t>(source, shape);
  }
  if (descr == "<u2") {
    return read_narrow<std::uint16_t>(source, shape);
  }
  fail<DataError>(
      "{} holds elements of type '{}'; accepted: <f2, <f4, <f8, |i1, <i2, <i4, <i8, |u1, <u2, |b1",
      source.name(), descr.substr(0, 16));
}

}  // namespace

Tensor read_npy(ByteSource& source) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::string_view kMagic = "\x93NUMPY";
  std::array<char, kMagic.size()> magic{};
  read_exactly(source, std::as_writable_bytes(std::span(magic)), "its header");
  require<DataError>(std::string_view(magic.data(), magic.size()) == kMagic,
                     "{} is not a .npy file", source.name());
  const std::size_t version = read_little_endian(source, 1), minor = read_little_endian(source, 1);
  require<DataError>(version >= 1 && version <= 3 && minor == 0,
                     "{} is of .npy version {}.{}; accepted: 1.0, 2.0 and 3.0", source.name(),
                     version, minor);
  const std::size_t length = read_little_endian(source, version == 1 ? 2 : 4);
  require<DataError>(length <= kMaxHeader, "{} has a header of {} bytes; at most {} are plausible",
                     source.name(), length, kMaxHeader);
  std::string text(length, '\0');
  read_exactly(source, std::as_writable_bytes(std::span(text)), "its header");
  Header header = HeaderParser(text, source.name()).parse();

  if (header.fortran_order) {  // the transpose of the same bytes in C order
    std::reverse(header.shape.begin(), header.shape.end());
  }
  Tensor tensor = read_elements(source, header.descr, header.shape);
  require_end(source);
  if (header.fortran_order) {
    std::vector<int> backwards(header.shape.size());
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    tensor = tensor.transpose(backwards).contiguous();
  }
  return tensor;
}

}  // namespace antichain::data
