// Draws sizes and values for tests; the same for the same seed.
#pragma once

#include <initializer_list>
#include <iterator>
#include <random>

#include "antichain/tensor/tensor.h"

namespace antichain::cpu {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  bool coin() { return between(0, 1) == 1; }
  template <class Values>
  auto one_of(const Values& values) {
    return *std::next(std::begin(values), between(0, std::ssize(values) - 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  /// Returns a size: mostly small, odd or prime, at times 0, 1 or large.
  std::int64_t size();
  /// Returns a shape of this rank with at most `max_elements`.
  Shape shape(std::int64_t rank, std::int64_t max_elements);
  /// Returns values in [low, high], integers for integer types.
  Tensor values(DType dtype, const Shape& shape, double low = -2, double high = 2);
  /// Returns a packed tensor; floats from [-2, 2], integers from the whole range of a byte.
  Tensor tensor(DType dtype, const Shape& shape);
  /// Returns such a tensor as a view: transposed, sliced, reversed or repeated.
  Tensor view(DType dtype, const Shape& shape);
  /// Returns indices in [0, size), i32 or i64.
  Tensor indices(const Shape& shape, std::int64_t size);

 private:
  std::mt19937_64 generator_;
};

}  // namespace antichain::cpu
