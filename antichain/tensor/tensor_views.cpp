// The functions of Tensor that return the same elements under another shape and other strides.
#include "antichain/tensor/tensor.h"

namespace antichain {

namespace {

bool slice_fits(std::int64_t size, std::int64_t start, std::int64_t length, std::int64_t step) {
  if (start < 0 || start > size) {
    return false;
  }
  if (length == 0) {
    return true;
  }
  // Divisions, because (length - 1) * step could overflow.
  const std::int64_t steps_left = step > 0 ? (size - 1 - start) / step : -(start / step);
  return start < size && length - 1 <= steps_left;
}

}  // namespace

Tensor Tensor::reshape(Shape shape) const {
  if (antichain::numel(shape) != numel_) {
    fail<ShapeError>("cannot reshape {} to {}: the number of elements differs", to_string(shape_),
                     to_string(shape));
  }
  const Tensor packed = contiguous();
  Strides strides = contiguous_strides(shape);
  return Tensor(dtype_, std::move(shape), std::move(strides), packed.offset_, packed.buffer_);
}

Tensor Tensor::transpose(std::span<const int> permutation) const {
  require<ShapeError>(permutation.size() == shape_.size(),
                      "transpose needs one axis for each of the {} axes, found {}", shape_.size(),
                      permutation.size());
  std::vector<bool> seen(shape_.size());
  Shape shape;
  Strides strides;
  for (const int entry : permutation) {
    const auto axis = static_cast<std::size_t>(normalize_axis(entry, rank(), "transpose axis"));
    require<ShapeError>(!seen[axis], "transpose axis {} appears twice", entry);
    seen[axis] = true;
    shape.push_back(shape_[axis]);
    strides.push_back(strides_[axis]);
  }
  return Tensor(dtype_, std::move(shape), std::move(strides), offset_, buffer_);
}

Tensor Tensor::slice(int axis, std::int64_t start, std::int64_t length, std::int64_t step) const {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, rank(), "slice axis"));
  const std::int64_t size = shape_[at];
  require<ShapeError>(step != 0, "slice step must not be 0");
  require<ShapeError>(length >= 0, "slice length must not be negative, found {}", length);
  require<ShapeError>(slice_fits(size, start, length, step),
                      "slice of {} from {} by steps of {} leaves axis {} of size {}", length, start,
                      step, axis, size);
  Shape shape = shape_;
  Strides strides = strides_;
  std::int64_t offset = offset_;
  shape[at] = length;
  // An empty view keeps the old offset, since it may start past the end, and the old strides, since
  // those of an empty tensor are arbitrary; so is the stride of a single position.
  if (numel_ > 0 && length > 0) {
    offset += start * strides_[at];
    strides[at] *= length > 1 ? step : 1;
  }
  return Tensor(dtype_, std::move(shape), std::move(strides), offset, buffer_);
}

Tensor Tensor::select(int axis, std::int64_t index) const {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, rank(), "select axis"));
  require<ShapeError>(index >= 0 && index < shape_[at], "index {} is outside axis {} of size {}",
                      index, axis, shape_[at]);
  const Tensor kept = slice(axis, index, 1);
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(at));
  return Tensor(dtype_, std::move(shape), std::move(strides), kept.offset_, buffer_);
}

Tensor Tensor::broadcast_to(Shape shape) const {
  bool fits = shape.size() >= shape_.size();
  Strides strides(shape.size(), 0);
  for (std::size_t i = shape_.size(); fits && i-- > 0;) {
    const std::size_t target = i + shape.size() - shape_.size();
    if (shape[target] == shape_[i]) {
      strides[target] = strides_[i];
    } else {
      fits = shape_[i] == 1;
    }
  }
  if (!fits) {
    fail<ShapeError>("cannot broadcast {} to {}", to_string(shape_), to_string(shape));
  }
  return Tensor(dtype_, std::move(shape), std::move(strides), offset_, buffer_);
}

}  // namespace antichain
