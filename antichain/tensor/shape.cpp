#include "antichain/tensor/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/base/error.h"

namespace antichain {

std::int64_t numel(std::span<const std::int64_t> shape) {
  bool has_zero = false;
  std::int64_t product = 1;  // of the sizes that are not zero, so that strides fit as well
  for (const std::int64_t size : shape) {
    if (size < 0) {
      fail<ShapeError>("shape {} has the negative size {}", to_string(shape), size);
    }
    has_zero |= size == 0;
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product)) {
      fail<ShapeError>("shape {} has more elements than 64 bits can count", to_string(shape));
    }
  }
  return has_zero ? 0 : product;
}

std::size_t packed_bytes(std::span<const std::int64_t> shape, std::size_t element_bytes) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(numel(shape), element_bytes, &bytes)) {
    fail<ShapeError>("shape {} with {} bytes per element has more bytes than 64 bits can count",
                     to_string(shape), element_bytes);
  }
  return static_cast<std::size_t>(bytes);
}

Strides contiguous_strides(std::span<const std::int64_t> shape) {
  numel(shape);  // throws when a stride could overflow
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

Extent extent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (shape.size() != strides.size()) {
    fail<ShapeError>("shape {} needs one stride per axis, found strides {}", to_string(shape),
                     to_string(strides));
  }
  if (numel(shape) == 0) {
    return {};
  }
  Extent result{.first = 0, .last = 0};
  bool overflow = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t& end = strides[i] < 0 ? result.first : result.last;
    std::int64_t distance = 0;
    overflow |= __builtin_mul_overflow(shape[i] - 1, strides[i], &distance);
    overflow |= __builtin_add_overflow(end, distance, &end);
  }
  std::int64_t span = 0;  // last - first + 1 has to fit as well
  overflow |= __builtin_sub_overflow(result.last, result.first, &span);
  overflow |= __builtin_add_overflow(span, 1, &span);
  if (overflow) {
    fail<ShapeError>("shape {} with strides {} reaches further than 64 bits can count",
                     to_string(shape), to_string(strides));
  }
  return result;
}

std::string to_string(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

int normalize_axis(std::int64_t axis, int rank, const char* what) {
  require<ShapeError>(axis >= -rank && axis < rank, "{} {} does not exist in a tensor of rank {}",
                      what, axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace antichain
