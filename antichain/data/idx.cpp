#include "antichain/data/idx.h"

#include <algorithm>
#include <array>
#include <bit>

#include "antichain/base/error.h"
#include "antichain/data/tensor_reader.h"

namespace antichain::data {

namespace {

DType element_type(int code, const std::string& file) {
  switch (code) {  // as in LeCun's description of the format
    case 0x08: return u8;
    case 0x09: return i8;
    case 0x0C: return i32;
    case 0x0D: return f32;
    case 0x0E: return f64;
    default: break;
  }
  fail<DataError>("{} holds elements of IDX type {:#04x}; accepted: 0x08, 0x09, 0x0c, 0x0d, 0x0e",
                  file, code);
}

// Turns elements around: the file has the highest byte first.
void swap_bytes(const Tensor& tensor) {
  const std::size_t size = size_of(tensor.dtype());
  auto* const bytes = static_cast<std::byte*>(tensor.raw());
  for (std::size_t at = 0; at < tensor.bytes(); at += size) {
    std::reverse(bytes + at, bytes + at + size);
  }
}

}  // namespace

Tensor read_idx(ByteSource& source) {
  static_assert(std::endian::native == std::endian::little);
  std::array<std::byte, 4> magic{};
  read_exactly(source, magic, "its header");
  const int rank = std::to_integer<int>(magic[3]);
  require<DataError>(magic[0] == std::byte{0} && magic[1] == std::byte{0} && rank > 0,
                     "{} is not an IDX file", source.name());
  const DType dtype = element_type(std::to_integer<int>(magic[2]), source.name());
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<std::byte, 4> size{};
    read_exactly(source, size, "its header");
    std::int64_t value = 0;
    for (const std::byte byte : size) {
      value = value << 8 | std::to_integer<std::int64_t>(byte);
    }
    shape.push_back(value);
  }
  Tensor tensor = read_tensor(source, dtype, shape);
  require_end(source);
  swap_bytes(tensor);
  return tensor;
}

}  // namespace antichain::data
