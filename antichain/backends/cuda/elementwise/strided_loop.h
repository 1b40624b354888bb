// StridedLoop: how a kernel walks a value and operands of other layouts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "antichain/tensor/tensor.h"

namespace antichain::cuda {

/// Axes that lie behind each other for all operands are one.
struct StridedLoop {
  std::int64_t count = 1;                          // elements
  std::vector<std::int64_t> sizes;                 // outermost first; none for one element
  std::vector<std::vector<std::int64_t>> strides;  // by operand, in elements

  /// `operands` broadcast to the shape.
  StridedLoop(const Shape& shape, std::span<const Tensor* const> operands);
  StridedLoop(const Shape& shape, const std::vector<Strides>& operands);

  enum class Kind { number, dense, strided };
  Kind kind_of(std::size_t operand) const;
  /// Returns whether runs of `width` elements from multiples of `width` on have one position along
  /// all axes but the last.
  bool has_runs(std::int64_t width) const;
  /// Returns whether such a run lies side by side in an operand, at a multiple of `width`, too.
  bool is_run(std::size_t operand, std::int64_t width) const;
  /// Returns the step between elements of a run.
  std::int64_t inner_stride(std::size_t operand) const;
  /// Returns C++ for the positions along the axes of element `i`: p0, p1, ...; empty where no
  /// operand needs them. `Index` is long long, or unsigned for fewer than 2^31 elements; the code
  /// includes device/element.cuh.
  std::string positions_code() const;
  /// Returns C++ for the place of element `i` in an operand.
  std::string place_code(std::size_t operand) const;
  /// Returns declarations of what the code above reads, members of an argument `a`, in the order of
  /// slots().
  std::string members_code() const;
  std::vector<std::int64_t> slots() const;

 private:
  bool has_strided() const;
};

/// Returns what indices below 2^31 are divided by a size with (device/division.cuh), in one slot;
/// something without meaning for sizes that no such index needs.
std::int64_t reciprocal_of(std::int64_t size);
/// Returns the strides of a tensor broadcast to a shape.
Strides broadcast_strides(const Tensor& tensor, const Shape& shape);

}  // namespace antichain::cuda
