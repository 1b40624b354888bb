// Concrete shapes and strides: sizes known as numbers. Symbolic shapes are antichain/graph/dim.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace antichain {

using Shape = std::vector<std::int64_t>;
using Strides = std::vector<std::int64_t>;  // in elements

/// Returns the product of the sizes; throws ShapeError on a negative size or an overflow.
std::int64_t numel(std::span<const std::int64_t> shape);
/// Returns the bytes that such elements take when packed; throws ShapeError when they overflow.
std::size_t packed_bytes(std::span<const std::int64_t> shape, std::size_t element_bytes);
/// Returns row-major strides; throws ShapeError where numel() does.
Strides contiguous_strides(std::span<const std::int64_t> shape);

/// Holds the lowest and the highest position that a strided view touches, in elements from its
/// first element. An empty view touches nothing: its size is 0.
struct Extent {
  std::int64_t first = 0;
  std::int64_t last = -1;
  std::int64_t size() const { return last - first + 1; }
};

/// Returns what a view touches; throws ShapeError when ranks differ or positions overflow.
Extent extent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

/// Returns "[2, 3]".
std::string to_string(std::span<const std::int64_t> shape);
/// Returns `axis` counted from the front; throws ShapeError naming `what` when there is none.
int normalize_axis(std::int64_t axis, int rank, const char* what = "axis");

}  // namespace antichain
