#include "antichain/backends/cuda/core/packed_input.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kRowAlignment = 16;  // bytes that are copied at once

bool begins_aligned(const Tensor& tensor) {
  return tensor.offset() * static_cast<std::int64_t>(size_of(tensor.dtype())) % kRowAlignment == 0;
}

bool has_aligned_rows(const Tensor& tensor) {
  const auto bytes = static_cast<std::int64_t>(size_of(tensor.dtype()));
  const Strides& strides = tensor.strides();
  bool result = begins_aligned(tensor);
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    const bool is_last = axis + 1 == strides.size();
    const bool fits = is_last ? strides[axis] == 1 : strides[axis] * bytes % kRowAlignment == 0;
    result = result && (fits || tensor.shape()[axis] == 1);
  }
  return result;
}

bool has_packed_parts(const Tensor& tensor, std::size_t axes) {
  const Strides packed = contiguous_strides(tensor.shape());
  for (std::size_t axis = axes; axis < packed.size(); ++axis) {
    if (tensor.strides()[axis] != packed[axis] && tensor.shape()[axis] != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

PackedInput PackedInput::with_aligned_rows(const Context& device, const Tensor& seen) {
  return {device, seen, has_aligned_rows(seen)};
}

PackedInput PackedInput::whole(const Context& device, const Tensor& seen) {
  return {device, seen, seen.is_contiguous()};
}

PackedInput PackedInput::whole_aligned(const Context& device, const Tensor& seen) {
  return {device, seen, seen.is_contiguous() && begins_aligned(seen)};
}

PackedInput PackedInput::with_packed_parts(const Context& device, const Tensor& seen,
                                           std::size_t axes) {
  return {device, seen, begins_aligned(seen) && has_packed_parts(seen, axes)};
}

PackedInput::PackedInput(const Context& device, const Tensor& seen, bool as_it_is)
    : strides_(as_it_is ? seen.strides() : contiguous_strides(seen.shape())) {
  if (!as_it_is) {
    packed_ = DeviceContext::allocate(device, seen.bytes());
    copy_.emplace(device, std::vector{CopyPart(Layout::packed(seen.shape()), Layout::of(seen),
                                               size_of(seen.dtype()))});
  }
}

const void* PackedInput::address(const Tensor& tensor) {
  if (!copy_) {
    return tensor.raw();
  }
  const CopyEnds ends{packed_->data(), tensor.raw()};
  copy_->run({&ends, 1});
  return packed_->data();
}

}  // namespace antichain::cuda
