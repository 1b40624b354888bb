#include "antichain/backends/cuda/movement/tiled_copy.h"

#include <fmt/format.h>

#include <optional>

#include "antichain/backends/cuda/movement/strided_copy.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kShortest = 16;  // elements of an axis: below, tiles are mostly empty
constexpr std::int64_t kMostGridBlocks = (std::int64_t{1} << 31) - 1;
constexpr std::size_t kToSlot = 0, kFromSlot = 1;

// Elements along both axes of a tile: a warp reads and writes 128 bytes at once, or nearly so.
std::int64_t tile_of(std::int64_t element_bytes) { return element_bytes <= 2 ? 64 : 32; }

// The axis along which the elements lie side by side where they come from.
std::optional<std::size_t> source_axis(const StridedLoop& loop) {
  for (std::size_t axis = 0; axis + 1 < loop.sizes.size(); ++axis) {
    if (loop.strides[1][axis] == 1 && loop.sizes[axis] >= kShortest) {
      return axis;
    }
  }
  return std::nullopt;
}

std::int64_t num_tiles(std::int64_t length, std::int64_t tile) {
  return (length + tile - 1) / tile;
}

std::int64_t num_blocks(const CopyPart& part, std::size_t rows) {
  const StridedLoop& loop = part.loop();
  const std::int64_t tile = tile_of(part.element_bytes());
  std::int64_t blocks = num_tiles(loop.sizes.back(), tile) * num_tiles(loop.sizes[rows], tile);
  for (std::size_t axis = 0; axis + 1 < loop.sizes.size(); ++axis) {
    blocks *= axis == rows ? 1 : loop.sizes[axis];
  }
  return blocks;
}

// Members of the arguments of tiled_copy_text, in order.
std::vector<std::int64_t> tiled_copy_slots(const CopyPart& part) {
  const StridedLoop& loop = part.loop();
  const std::size_t rows = *source_axis(loop), columns = loop.sizes.size() - 1;
  std::vector<std::int64_t> slots = {
      0, 0, loop.sizes[rows], loop.sizes[columns], loop.strides[0][rows], loop.strides[1][columns]};
  for (std::size_t axis = 0; axis < columns; ++axis) {
    if (axis != rows) {
      slots.insert(slots.end(), {loop.sizes[axis], loop.strides[0][axis], loop.strides[1][axis]});
    }
  }
  return slots;
}

}  // namespace

bool swaps_axes(const CopyPart& part) {
  const StridedLoop& loop = part.loop();
  if (loop.count == 0 || loop.sizes.size() < 2 || loop.sizes.back() < kShortest ||
      loop.strides[0].back() != 1 || loop.strides[1].back() == 1 || loop.strides[1].back() == 0) {
    return false;
  }
  const std::optional<std::size_t> rows = source_axis(loop);
  return rows && num_blocks(part, *rows) <= kMostGridBlocks;
}

std::string tiled_copy_text(std::int64_t element_bytes, std::size_t outer_axes) {
  const std::int64_t tile = tile_of(element_bytes);
  // Columns of a tile begin in different banks of shared memory, which are 4 bytes wide.
  const std::int64_t pitch = tile + (element_bytes < 4 ? 4 / element_bytes : 1);
  std::string axes, places;
  if (outer_axes > 0) {
    axes = fmt::format("  struct {{\n    long long size, to, from;\n  }} outer[{}];\n", outer_axes);
    places = fmt::format(R"(#pragma unroll
  for (int axis = {} - 1; axis >= 0; --axis) {{
    const unsigned size = unsigned(a.outer[axis].size), at = rest % size;
    rest /= size;
    to += at * a.outer[axis].to;
    from += at * a.outer[axis].from;
  }}
)",
                         outer_axes);
  }
  return fmt::format(R"(using T = {0};
constexpr int kTile = {1}, kRows = 256 / kTile, kPasses = kTile / kRows;
struct Arguments {{
  T* to;
  const T* from;
  long long rows, columns, to_stride, from_stride;
{2}}};
// Rows lie side by side where they come from, columns where they go to.
extern "C" __global__ void tiled_copy(const __grid_constant__ Arguments a) {{
  __shared__ T tile[kTile][{3}];
  unsigned rest = blockIdx.x;
  const unsigned across = unsigned((a.columns + kTile - 1) / kTile);
  const unsigned down = unsigned((a.rows + kTile - 1) / kTile);
  const long long first_column = (long long)(rest % across) * kTile;
  rest /= across;
  const long long first_row = (long long)(rest % down) * kTile;
  rest /= down;
  long long to = 0, from = 0;
{4}  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  T values[kPasses];
#pragma unroll
  for (int n = 0; n < kPasses; ++n) {{
    const long long row = first_row + x, column = first_column + y + n * kRows;
    if (row < a.rows && column < a.columns) {{
      values[n] = a.from[from + row + column * a.from_stride];
    }}
  }}
#pragma unroll
  for (int n = 0; n < kPasses; ++n) {{
    tile[y + n * kRows][x] = values[n];
  }}
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kPasses; ++n) {{
    const long long row = first_row + y + n * kRows, column = first_column + x;
    if (row < a.rows && column < a.columns) {{
      a.to[to + row * a.to_stride + column] = tile[x][y + n * kRows];
    }}
  }}
}}
)",
                     word_type(static_cast<std::size_t>(element_bytes)), tile, axes, pitch, places);
}

TiledCopy::TiledCopy(const Context& device, const CopyPart& part)
    : launch_(device, tiled_copy_text(part.element_bytes(), part.loop().sizes.size() - 2),
              "tiled_copy", num_blocks(part, *source_axis(part.loop())), dim3(256),
              tiled_copy_slots(part)) {}

void TiledCopy::run(const void* to, const void* from) {
  launch_.set(kToSlot, to);
  launch_.set(kFromSlot, from);
  launch_.run();
}

}  // namespace antichain::cuda
