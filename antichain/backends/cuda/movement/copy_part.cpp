#include "antichain/backends/cuda/movement/copy_part.h"

#include <algorithm>
#include <cstdint>

namespace antichain::cuda {

CopyPart::CopyPart(const Layout& to, const Layout& from, std::size_t element_bytes)
    : loop_(to.shape, {to.strides, from.strides}),
      element_bytes_(static_cast<std::int64_t>(element_bytes)),
      to_offset_(to.offset * element_bytes_),
      from_offset_(from.offset * element_bytes_) {}

CopyPart CopyPart::fill(const Layout& to, std::size_t element_bytes) {
  CopyPart part(to, {to.shape, Strides(to.shape.size(), 0), 0}, element_bytes);
  part.fills_ = true;
  return part;
}

const std::byte* CopyPart::first_to(const void* to) const {
  return static_cast<const std::byte*>(to) + to_offset_;
}

const std::byte* CopyPart::first_from(const void* from) const {
  return static_cast<const std::byte*>(from) + from_offset_;
}

// Whether runs of so many elements lie side by side everywhere.
bool CopyPart::has_units(std::int64_t elements) const {
  const auto lie_side_by_side = [&](std::size_t operand) {
    const std::vector<std::int64_t>& strides = loop_.strides[operand];
    return strides.back() == 1 &&
           std::all_of(strides.begin(), strides.end() - 1,
                       [&](std::int64_t stride) { return stride % elements == 0; });
  };
  return !loop_.sizes.empty() && loop_.sizes.back() % elements == 0 && lie_side_by_side(0) &&
         (fills_ || lie_side_by_side(1));
}

std::int64_t CopyPart::unit_bytes(const void* first_to, const void* first_from) const {
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(first_to) | reinterpret_cast<std::uintptr_t>(first_from);
  std::int64_t bytes = kWidestUnit;
  while (bytes > element_bytes_ && (addresses % static_cast<std::uintptr_t>(bytes) != 0 ||
                                    !has_units(bytes / element_bytes_))) {
    bytes /= 2;
  }
  return bytes;
}

std::vector<std::int64_t> CopyPart::axis_slots(std::int64_t unit_bytes, std::size_t axes) const {
  const std::int64_t elements = unit_bytes / element_bytes_;
  const std::size_t own = loop_.sizes.size(), added = axes - own;
  std::vector<std::int64_t> slots(4 * axes, 0);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::int64_t size = 1;
    if (axis >= added) {
      const std::size_t n = axis - added;
      const bool is_last = n + 1 == own;
      size = is_last ? loop_.sizes[n] / elements : loop_.sizes[n];
      for (const std::size_t operand : {std::size_t{0}, std::size_t{1}}) {
        const std::int64_t stride = loop_.strides[operand][n];
        slots[(2 + operand) * axes + axis] = is_last ? stride : stride / elements;
      }
    }
    slots[axis] = size;
    slots[axes + axis] = reciprocal_of(size);
  }
  return slots;
}

}  // namespace antichain::cuda
