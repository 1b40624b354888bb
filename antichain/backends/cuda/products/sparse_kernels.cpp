#include "antichain/backends/cuda/products/sparse_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/products/csr_pattern.h"
#include "antichain/backends/cuda/products/sparse_product.h"
#include "antichain/ops/products/sparse.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kMostSparseThreads = 512;  // of a block: as many sums lie in shared memory
constexpr std::int64_t kMostColumns = 64;  // of a row of the result that a block takes at once
constexpr unsigned kWarpsPerRow = 8;

std::string head(DType dtype, DType index) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/fold.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
using Index = {};
// A wrong pattern has been reported; here it must not lead elsewhere.
long long within(long long place, long long stored) {{
  return place < 0 ? 0 : place > stored ? stored : place;
}}
)",
                     storage_type(dtype), storage_type(index));
}

// Threads beside each other take columns of the result; the others share the elements of its row,
// about as many as there are in a row.
dim3 block_for(std::int64_t rows, std::int64_t stored, std::int64_t width) {
  const auto power = [](std::int64_t number) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(number)));
  };
  const std::int64_t x = std::min(kMostColumns, power(std::max<std::int64_t>(width, 1)));
  const std::int64_t elements = stored / std::max<std::int64_t>(rows, 1) + 1;
  const std::int64_t y = std::clamp<std::int64_t>(power(elements), 2, kMostSparseThreads / x);
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
}

KernelFunction plan_product(const KernelContext& context, const Context& device) {
  const bool turned = context.attr<bool>("transposed");
  const Tensor &values = context.in(0), &dense = context.in(3), &out = context.out();
  const std::int64_t rows = out.shape()[0], width = out.shape()[1], stored = values.numel();
  const auto pattern =
      std::make_shared<CsrPattern>(context, device, 1, context.size("num_columns"), turned);
  const auto launch = std::make_shared<Launch>(
      device, csr_matmul_text(values.dtype(), turned ? i64 : context.in(1).dtype(), turned),
      "multiply", width == 0 ? 0 : std::min(rows, kMostBlocks), block_for(rows, stored, width),
      std::vector<std::int64_t>{rows, width, dense.shape()[0], stored, 0, 0, 0, 0, 0, 0});
  return [pattern, launch, turned](KernelContext& run) {
    pattern->prepare(run);
    launch->set(4, turned ? pattern->column_starts() : run.in(2).raw());
    launch->set(5, turned ? pattern->rows() : run.in(1).raw());
    launch->set(6, turned ? pattern->order() : nullptr);
    launch->set(7, run.in(0).raw());
    launch->set(8, run.in(3).raw());
    launch->set(9, run.out().raw());
    launch->run();
  };
}

KernelFunction plan_sampled(const KernelContext& context, const Context& device) {
  const Tensor& a = context.in(2);
  const std::int64_t rows = a.shape()[0], width = a.shape()[1], stored = context.out().numel();
  const auto pattern =
      std::make_shared<CsrPattern>(context, device, 0, context.size("num_columns"), false);
  const auto launch = std::make_shared<Launch>(
      device, csr_sampled_matmul_text(a.dtype(), context.in(0).dtype()), "sample",
      std::min(rows, kMostBlocks), dim3(kWarp, kWarpsPerRow),
      std::vector<std::int64_t>{rows, width, context.size("num_columns"), stored, 0, 0, 0, 0, 0});
  return [pattern, launch](KernelContext& run) {
    pattern->prepare(run);
    launch->set_operands(4, 8, run);
    launch->run();
  };
}

}  // namespace

std::string csr_matmul_text(DType dtype, DType index, bool turned) {
  return head(dtype, index) + fmt::format(R"(struct Arguments {{
  long long rows, width, sources, stored;
  const Index *starts, *from;
  const long long* order;
  const T *values, *dense;
  T* out;
}};
extern "C" __global__ void multiply(const Arguments a) {{
  __shared__ double shared[{}];
  for (long long row = blockIdx.x; row < a.rows; row += gridDim.x) {{
    const long long begin = within(a.starts[row], a.stored);
    const long long end = within(a.starts[row + 1], a.stored);
    for (long long first = 0; first < a.width; first += blockDim.x) {{
      const long long j = first + threadIdx.x;
      double total = 0;
      if (j < a.width) {{
        for (long long p = begin + threadIdx.y; p < end; p += blockDim.y) {{
          const long long from = a.from[p];
          if (from >= 0 && from < a.sources) {{
            const double factor = double(load<T>(a.values[{}]));
            total += factor * double(load<T>(a.dense[from * a.width + j]));
          }}
        }}
      }}
      total = join_block<FoldSum>(total, shared);
      if (j < a.width && threadIdx.y == 0) {{
        a.out[row * a.width + j] = stored<T>(Compute<T>(total));
      }}
    }}
  }}
}}
)",
                                          kMostSparseThreads, turned ? "a.order[p]" : "p");
}

// A warp per stored element.
std::string csr_sampled_matmul_text(DType dtype, DType index) {
  return head(dtype, index) + R"(struct Arguments {
  long long rows, width, num_columns, stored;
  const Index *columns, *starts;
  const T *left, *right;
  T* out;
};
extern "C" __global__ void sample(const Arguments a) {
  for (long long row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const long long begin = within(a.starts[row], a.stored);
    const long long end = within(a.starts[row + 1], a.stored);
    for (long long p = begin + threadIdx.y; p < end; p += blockDim.y) {
      const long long column = a.columns[p];
      double total = 0;
      if (column >= 0 && column < a.num_columns) {
        for (long long j = threadIdx.x; j < a.width; j += 32) {
          total += double(load<T>(a.left[row * a.width + j])) *
                   double(load<T>(a.right[column * a.width + j]));
        }
      }
      for (int half = 16; half > 0; half /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, half);
      }
      if (threadIdx.x == 0) {
        a.out[p] = stored<T>(Compute<T>(total));
      }
    }
  }
}
)";
}

void register_sparse(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, auto plan) {
    kernels.add(def,
                {.name = "block per row", .supports = [](Op) { return Support{}; }, .plan = plan});
  };
  add(csr_matmul_def(),
      [device](const KernelContext& context) { return plan_product(context, device); });
  add(csr_sampled_matmul_def(),
      [device](const KernelContext& context) { return plan_sampled(context, device); });
  kernels.add(csr_product_def(), {.name = "warp per row",
                                  .supports = [](Op) { return Support{}; },
                                  .plan =
                                      [device](const KernelContext& context) {
                                        return plan_csr_product(context, device);
                                      }});
}

}  // namespace antichain::cuda
