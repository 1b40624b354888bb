#include "antichain/data/tensor_reader.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/out_of_memory.h"

namespace antichain::data {

namespace {

[[noreturn]] void fail_for_room(const ByteSource& source, std::size_t bytes) {
  fail<MachineError>("{} does not fit into memory: it says that it holds {} bytes of elements",
                     source.name(), bytes);
}

}  // namespace

std::vector<std::byte> read_bytes(ByteSource& source, std::size_t bytes, const char* what) {
  constexpr std::size_t kFirst = std::size_t{1} << 16;
  std::vector<std::byte> all;
  while (all.size() < bytes) {
    const std::size_t had = all.size();
    try {
      all.resize(std::min(bytes, std::max(kFirst, 2 * had)));
    } catch (const std::bad_alloc&) {
      fail_for_room(source, bytes);
    }
    read_exactly(source, std::span(all).subspan(had), what);
  }
  return all;
}

Tensor read_tensor(ByteSource& source, DType dtype, const Shape& shape) {
  std::size_t bytes = 0;
  try {
    bytes = packed_bytes(shape, size_of(dtype));
  } catch (const ShapeError&) {
    fail<DataError>("{} says that it holds {}{}, which is impossible", source.name(), name(dtype),
                    to_string(shape));
  }
  const std::vector<std::byte> read = read_bytes(source, bytes, "its elements");
  if (dtype == boolean) {
    require<DataError>(std::all_of(read.begin(), read.end(),
                                   [](std::byte b) { return std::to_integer<int>(b) <= 1; }),
                       "{} holds bools that are neither 0 nor 1", source.name());
  }
  Tensor result;
  try {
    result = Tensor::empty(dtype, shape);
  } catch (const OutOfMemory&) {
    fail_for_room(source, bytes);
  }
  if (bytes > 0) {
    std::memcpy(result.raw(), read.data(), bytes);
  }
  return result;
}

}  // namespace antichain::data
