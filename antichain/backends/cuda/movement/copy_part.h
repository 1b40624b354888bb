// CopyPart: a copy between two layouts, as the kernel of strided_copy.h takes it.
#pragma once

#include "antichain/backends/cuda/elementwise/strided_loop.h"
#include "antichain/ops/shape/layout.h"

namespace antichain::cuda {

/// Bytes of the widest unit that is copied at once.
inline constexpr std::int64_t kWidestUnit = 16;

class CopyPart {
 public:
  /// Both layouts have one shape; elements have 1, 2, 4 or 8 bytes.
  CopyPart(const Layout& to, const Layout& from, std::size_t element_bytes);
  /// Fills a layout with a number that comes from kWidestUnit bytes full of it.
  static CopyPart fill(const Layout& to, std::size_t element_bytes);

  std::int64_t num_elements() const { return loop_.count; }
  std::size_t num_axes() const { return loop_.sizes.size(); }
  std::int64_t element_bytes() const { return element_bytes_; }
  /// Returns the loop whose operands are what it goes to and what it comes from.
  const StridedLoop& loop() const { return loop_; }
  /// Returns addresses of first elements for memories that the offsets of the layouts count from.
  const std::byte* first_to(const void* to) const;
  const std::byte* first_from(const void* from) const;

  /// Returns how many bytes can be copied at once between first elements at these addresses.
  std::int64_t unit_bytes(const void* first_to, const void* first_from) const;
  /// Returns sizes, reciprocals and strides in such units, for `axes` axes or fewer.
  std::vector<std::int64_t> axis_slots(std::int64_t unit_bytes, std::size_t axes) const;

 private:
  bool has_units(std::int64_t elements) const;

  StridedLoop loop_;
  std::int64_t element_bytes_;
  std::int64_t to_offset_, from_offset_;  // bytes
  bool fills_ = false;
};

}  // namespace antichain::cuda
