// largest_norm_if: a warp per row, the largest of each block, and one block for the largest of all.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/hashing/hashing_kernels.h"
#include "antichain/ops/hashing/largest_norm.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kNormThreads = 256, kMostNormBlocks = 1024;

struct NormSlot {
  enum : std::size_t { kRows, kWidth, kParts, kWhen, kWeight, kBias, kOtherwise, kOut, kLargest };
};

KernelFunction plan_largest_norm(const KernelContext& context, const Context& device) {
  const std::int64_t rows = context.in(1).shape()[0], width = context.in(1).shape()[1];
  const std::int64_t blocks =
      std::clamp<std::int64_t>(divided_up(rows * kWarp, kNormThreads), 1, kMostNormBlocks);
  const std::string text = largest_norm_text(context.in(1).dtype());
  const std::shared_ptr<Buffer> largest =
      DeviceContext::allocate(device, static_cast<std::size_t>(blocks) * sizeof(double));
  std::vector<std::int64_t> slots(NormSlot::kLargest + 1);
  slots[NormSlot::kRows] = rows;
  slots[NormSlot::kWidth] = width;
  slots[NormSlot::kParts] = blocks;
  slots[NormSlot::kLargest] =
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(largest->data()));
  const dim3 block(static_cast<unsigned>(kNormThreads));
  const auto of_rows = std::make_shared<Launch>(device, text, "of_rows", blocks, block, slots);
  const auto of_all = std::make_shared<Launch>(device, text, "of_all", 1, block, slots);
  return [of_rows, of_all, largest](KernelContext& run) {
    for (Launch* launch : {of_rows.get(), of_all.get()}) {
      launch->set_operands(NormSlot::kWhen, NormSlot::kOut, run);
      launch->run();
    }
  };
}

}  // namespace

std::string largest_norm_text(DType dtype) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/fold.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
struct Arguments {{
  long long rows, width, parts;
  const bool* when;
  const T *weight, *bias;
  const float* otherwise;
  float* out;
  double* largest;
}};
extern "C" __global__ void of_rows(const Arguments a) {{
  __shared__ double shared[{}];
  if (!*a.when) {{
    return;
  }}
  const int lane = threadIdx.x % 32;
  const long long step = (long long)gridDim.x * blockDim.x / 32;
  double most = 0;
  for (long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < a.rows;
       row += step) {{
    const double bias = lane == 0 ? double(load<T>(a.bias[row])) : 0;
    double square = bias * bias;
    for (long long i = lane; i < a.width; i += 32) {{
      const double x = double(load<T>(a.weight[row * a.width + i]));
      square += x * x;
    }}
    for (int half = 16; half > 0; half /= 2) {{
      square += __shfl_xor_sync(0xffffffffu, square, half);
    }}
    most = FoldMax::join(most, square);
  }}
  most = join_block<FoldMax>(most, shared);
  if (threadIdx.x == 0) {{
    a.largest[blockIdx.x] = most;
  }}
}}
extern "C" __global__ void of_all(const Arguments a) {{
  __shared__ double shared[{}];
  if (!*a.when) {{
    if (threadIdx.x == 0) {{
      *a.out = *a.otherwise;
    }}
    return;
  }}
  double most = 0;
  for (long long part = threadIdx.x; part < a.parts; part += blockDim.x) {{
    most = FoldMax::join(most, a.largest[part]);
  }}
  most = join_block<FoldMax>(most, shared);
  if (threadIdx.x == 0) {{
    *a.out = float(sqrt(most));
  }}
}}
)",
                     storage_type(dtype), kNormThreads, kNormThreads);
}

void register_largest_norm(KernelTable& kernels, const Context& device) {
  kernels.add(largest_norm_if_def(), {.name = "a warp per row",
                                      .supports = [](Op) { return Support{}; },
                                      .plan =
                                          [device](const KernelContext& context) {
                                            return plan_largest_norm(context, device);
                                          }});
}

}  // namespace antichain::cuda
