// Where the elements of a view lie, without its memory: what kernels plan with.
#pragma once

#include "antichain/tensor/tensor.h"

namespace antichain {

/// Holds shape, strides and the position of the first element (in elements), as Tensor's views do.
struct Layout {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;

  /// Returns how the elements of `tensor` lie, counted from its first one.
  static Layout of(const Tensor& tensor) { return {tensor.shape(), tensor.strides(), 0}; }
  /// Returns the layout of a packed tensor.
  static Layout packed(const Shape& shape) { return {shape, contiguous_strides(shape), 0}; }

  /// Keeps `length` positions of an axis from `start`, every `step`-th (negative: backwards).
  Layout slice(std::size_t axis, std::int64_t start, std::int64_t length,
               std::int64_t step = 1) const {
    Layout result = *this;
    result.shape[axis] = length;
    // An empty range may start anywhere.
    result.offset += length > 0 ? start * strides[axis] : 0;
    result.strides[axis] *= step;
    return result;
  }
  /// Keeps lengths[i] positions of axis i from starts[i].
  Layout window(const Shape& starts, const Shape& lengths) const {
    Layout result = *this;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      result = result.slice(axis, starts[axis], lengths[axis]);
    }
    return result;
  }
  /// Repeats axes of size 1, and new leading axes, by strides of 0.
  Layout broadcast_to(const Shape& target) const {
    Layout result{target, Strides(target.size(), 0), offset};
    const std::size_t added = target.size() - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      result.strides[axis + added] = shape[axis] == 1 ? 0 : strides[axis];
    }
    return result;
  }
};

}  // namespace antichain
