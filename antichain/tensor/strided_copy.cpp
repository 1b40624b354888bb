#include "antichain/tensor/strided_copy.h"

#include <cstring>
#include <vector>

namespace antichain {

namespace {

struct Axis {
  std::int64_t size;
  std::int64_t to_stride, from_stride;  // in bytes
  std::int64_t index = 0;
};

// Returns the axes that need a loop, outermost first: axes of size 1 are dropped, and neighbours
// that walk both memories as one axis would are merged. Two packed layouts end as a single axis.
std::vector<Axis> loop_axes(const Tensor& to, const Tensor& from) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(to.dtype()));
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < to.shape().size(); ++i) {
    const std::int64_t size = to.shape()[i];
    if (size == 1) {
      continue;
    }
    const Axis axis{.size = size,
                    .to_stride = to.strides()[i] * element_bytes,
                    .from_stride = from.strides()[i] * element_bytes};
    if (!axes.empty() && axes.back().to_stride == size * axis.to_stride &&
        axes.back().from_stride == size * axis.from_stride) {
      axes.back() = {.size = axes.back().size * size,
                     .to_stride = axis.to_stride,
                     .from_stride = axis.from_stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

template <std::size_t kBytes>
void copy_row_of(std::byte* to, const std::byte* from, const Axis& row) {
  for (std::int64_t i = 0; i < row.size; ++i) {
    std::memcpy(to + i * row.to_stride, from + i * row.from_stride, kBytes);
  }
}

void copy_row(std::byte* to, const std::byte* from, const Axis& row, std::size_t element_bytes) {
  const auto packed = static_cast<std::int64_t>(element_bytes);
  if (row.to_stride == packed && row.from_stride == packed) {
    std::memcpy(to, from, static_cast<std::size_t>(row.size) * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1: return copy_row_of<1>(to, from, row);
    case 2: return copy_row_of<2>(to, from, row);
    case 4: return copy_row_of<4>(to, from, row);
    case 8: return copy_row_of<8>(to, from, row);
  }
  fail<InternalError>("no element has {} bytes", element_bytes);
}

// Moves both addresses to the next row, as an odometer counts; returns false after the last one.
bool advance(std::span<Axis> outer, std::byte*& to, const std::byte*& from) {
  for (std::size_t i = outer.size(); i-- > 0;) {
    Axis& axis = outer[i];
    if (axis.index + 1 < axis.size) {
      ++axis.index;
      to += axis.to_stride;
      from += axis.from_stride;
      return true;
    }
    to -= axis.index * axis.to_stride;
    from -= axis.index * axis.from_stride;
    axis.index = 0;
  }
  return false;
}

}  // namespace

void strided_copy(const Tensor& to, const Tensor& from) {
  if (to.numel() == 0) {
    return;
  }
  const std::size_t element_bytes = size_of(to.dtype());
  const auto packed = static_cast<std::int64_t>(element_bytes);
  if (to.is_contiguous() && from.is_contiguous()) {
    std::memcpy(to.raw(), from.raw(), to.bytes());
    return;
  }
  auto* target = static_cast<std::byte*>(to.raw());
  const auto* source = static_cast<const std::byte*>(from.raw());

  std::vector<Axis> outer = loop_axes(to, from);
  Axis row{.size = 1, .to_stride = packed, .from_stride = packed};
  if (!outer.empty()) {
    row = outer.back();
    outer.pop_back();
  }
  do {
    copy_row(target, source, row, element_bytes);
  } while (advance(outer, target, source));
}

}  // namespace antichain
