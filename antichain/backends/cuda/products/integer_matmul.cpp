#include "antichain/backends/cuda/products/integer_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/products/matmul_kernels.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kIntegerTile = 16;  // rows and columns of a result that a block computes

std::int64_t integer_tiles(std::int64_t size) { return (size + kIntegerTile - 1) / kIntegerTile; }

KernelFunction plan_integer_matmul(const KernelContext& context, const Context& device) {
  const Shape &a = context.in(0).shape(), &b = context.in(1).shape(), &out = context.out().shape();
  const bool transpose_a = context.attr<bool>("transpose_a");
  const bool transpose_b = context.attr<bool>("transpose_b");
  const std::int64_t rows = out.end()[-2], columns = out.end()[-1];
  const Shape batch(out.begin(), out.end() - 2);
  const StridedLoop loop(batch, {batch_strides(a, batch), batch_strides(b, batch)});
  std::vector<std::int64_t> slots = loop.slots();
  slots.insert(slots.end(), {rows, columns, a.end()[transpose_a ? -2 : -1]});
  const std::size_t first = slots.size();
  slots.resize(first + 3);
  const std::int64_t blocks = loop.count * integer_tiles(rows) * integer_tiles(columns);
  const auto launch =
      std::make_shared<Launch>(device,
                               integer_matmul_text(context.in(0).dtype(), context.out().dtype(),
                                                   transpose_a, transpose_b, loop),
                               "multiply", std::min(blocks, kMostBlocks),
                               dim3(kIntegerTile, kIntegerTile), std::move(slots));
  return [launch, first](KernelContext& run) {
    launch->set_operands(first, first + 2, run);
    launch->run();
  };
}

}  // namespace

// A block brings a tile of both matrices into shared memory and lets every thread add up one
// element; sums wrap as 64 bits do.
std::string integer_matmul_text(DType in, DType out, bool transpose_a, bool transpose_b,
                                const StridedLoop& batch) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain;
using namespace antichain::device;
using Index = long long;
struct Arguments {{
{0}  long long rows, columns, inner;
  const {1} *left, *right;
  {2}* out;
}};
constexpr int kTile = {3};
long long left_matrix(const Arguments& a, Index i) {{
{4}    return {5};
}}
long long right_matrix(const Arguments& a, Index i) {{
{4}    return {6};
}}
extern "C" __global__ void multiply(const Arguments a) {{
  __shared__ long long left[kTile][kTile], right[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const Index down = (a.rows + kTile - 1) / kTile, across = (a.columns + kTile - 1) / kTile;
  for (Index tile = blockIdx.x; tile < a.count * down * across; tile += gridDim.x) {{
    const Index n = tile / across / down;
    const Index row = tile / across % down * kTile + y, column = tile % across * kTile + x;
    const auto* const from_left = a.left + left_matrix(a, n);
    const auto* const from_right = a.right + right_matrix(a, n);
    long long total = 0;
    for (Index first = 0; first < a.inner; first += kTile) {{
      const Index k = first + x, l = first + y;
      left[y][x] = row < a.rows && k < a.inner ? from_left[{7}] : 0;
      right[y][x] = l < a.inner && column < a.columns ? from_right[{8}] : 0;
      __syncthreads();
      for (int i = 0; i < kTile; ++i) {{
        total = functors::Add()(total, functors::Multiply()(left[y][i], right[i][x]));
      }}
      __syncthreads();
    }}
    if (row < a.rows && column < a.columns) {{
      a.out[(n * a.rows + row) * a.columns + column] = stored<{2}>(total);
    }}
  }}
}}
)",
                     batch.members_code(), storage_type(in), storage_type(out), kIntegerTile,
                     batch.positions_code(), batch.place_code(0), batch.place_code(1),
                     transpose_a ? "k * a.rows + row" : "row * a.inner + k",
                     transpose_b ? "column * a.inner + l" : "l * a.columns + column");
}

void register_integer_matmul(KernelTable& kernels, const Context& device) {
  kernels.add(
      matmul_def(),
      {.name = "tiles of integers",
       .supports =
           [](Op op) {
             return is_float(op.input(0).dtype()) ? Support::no("it multiplies integers")
                                                  : Support{};
           },
       .plan = [device](const KernelContext& seen) { return plan_integer_matmul(seen, device); }});
}

}  // namespace antichain::cuda
