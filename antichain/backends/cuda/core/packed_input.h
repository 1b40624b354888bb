// PackedInput: an input whose elements a kernel takes as they lie, or from a packed copy where it
// cannot.
#pragma once

#include <optional>

#include "antichain/backends/cuda/movement/strided_copy.h"

namespace antichain::cuda {

class PackedInput {
 public:
  /// Rows along the last axis that begin at multiples of 16 bytes are taken as they are.
  static PackedInput with_aligned_rows(const Context& device, const Tensor& seen);
  /// Packed values are.
  static PackedInput whole(const Context& device, const Tensor& seen);
  /// Packed values that begin at a multiple of 16 bytes are.
  static PackedInput whole_aligned(const Context& device, const Tensor& seen);

  /// Values that begin at a multiple of 16 bytes, and are packed behind the first axes, are.
  static PackedInput with_packed_parts(const Context& device, const Tensor& seen, std::size_t axes);

  /// Returns the strides, in elements, of what address() returns.
  const Strides& strides() const { return strides_; }
  /// Enqueues the copy, if there is one, and returns where the elements are.
  const void* address(const Tensor& tensor);

 private:
  PackedInput(const Context& device, const Tensor& seen, bool as_it_is);

  Strides strides_;
  std::shared_ptr<Buffer> packed_;  // none: as it is
  std::optional<StridedCopies> copy_;
};

}  // namespace antichain::cuda
