#include "tests/backends_cpu/draw.h"

#include <cmath>
#include <numeric>

namespace antichain::cpu {

std::int64_t Draw::size() {
  const std::int64_t kind = between(0, 19);
  if (kind == 0) {
    return 0;
  }
  if (kind <= 2) {
    return 1;
  }
  if (kind <= 5) {
    return one_of<std::int64_t>({31, 64, 67, 127, 257, 1021});
  }
  return one_of<std::int64_t>({2, 3, 4, 5, 7, 8, 11, 13, 16, 17});
}

Shape Draw::shape(std::int64_t rank, std::int64_t max_elements) {
  for (;;) {
    Shape result;
    for (std::int64_t i = 0; i < rank; ++i) {
      result.push_back(size());
    }
    if (numel(result) <= max_elements) {
      return result;
    }
  }
}

Tensor Draw::values(DType dtype, const Shape& shape, double low, double high) {
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> elements(static_cast<std::size_t>(numel(shape)));
  for (double& element : elements) {
    element = draw(generator_);
    element = is_float(dtype) ? element : std::floor(element);
  }
  return Tensor::of<double>(shape, elements).cast(dtype);
}

Tensor Draw::indices(const Shape& shape, std::int64_t size) {
  const DType dtype = one_of({i32, i64});
  std::vector<std::int64_t> elements(static_cast<std::size_t>(numel(shape)));
  for (std::int64_t& element : elements) {
    element = between(0, size - 1);
  }
  return Tensor::of<std::int64_t>(shape, elements).cast(dtype);
}

Tensor Draw::tensor(DType dtype, const Shape& shape) {
  return is_float(dtype) ? values(dtype, shape) : values(dtype, shape, -128, 127);
}

Tensor Draw::view(DType dtype, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  const int axis = static_cast<int>(between(0, rank - 1));
  const auto at = static_cast<std::size_t>(axis);
  Shape other = shape;
  switch (between(0, 4)) {
    case 0: {  // the last two axes swapped
      std::swap(other.end()[-1], other.end()[-2]);
      std::vector<int> order(static_cast<std::size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::swap(order.end()[-1], order.end()[-2]);
      return tensor(dtype, other).transpose(order);
    }
    case 1:  // a part of a larger one
      other[at] += 3;
      return tensor(dtype, other).slice(axis, 2, shape[at]);
    case 2:  // every second
      other[at] *= 2;
      return tensor(dtype, other).slice(axis, 0, shape[at], 2);
    case 3:  // backwards
      return shape[at] == 0 ? tensor(dtype, shape)
                            : tensor(dtype, shape).slice(axis, shape[at] - 1, shape[at], -1);
    default:  // repeated
      other[at] = 1;
      return tensor(dtype, other).broadcast_to(shape);
  }
}

}  // namespace antichain::cpu
