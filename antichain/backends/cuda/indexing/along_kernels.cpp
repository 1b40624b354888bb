#include "antichain/backends/cuda/indexing/along_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/indexing/running_sum.h"
#include "antichain/ops/rows/along_axis.h"

namespace antichain::cuda {

namespace {

constexpr int kBlock = 256;
constexpr int kSideBySide = 32;  // lines of a block, where those lie beside each other

KernelFunction plan_choice(const KernelContext& context, const Context& device, bool largest) {
  const Tensor& x = context.in(0);
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  const std::int64_t lines = split.outer * split.inner;
  require<ShapeError>(split.size > 0 || lines == 0, "{}: there is no element to choose from",
                      context.where);
  const bool columns = split.inner > 1;
  const dim3 block = columns ? dim3(kSideBySide, kBlock / kSideBySide) : dim3(kBlock);
  const std::int64_t width = columns ? kSideBySide : 1;
  const auto launch =
      std::make_shared<Launch>(device, choice_text(x.dtype(), largest), "choose",
                               std::min(kMostBlocks, (lines + width - 1) / width), block,
                               std::vector<std::int64_t>{lines, split.size, split.inner, 0, 0});
  return [launch](KernelContext& run) {
    launch->set_operands(3, 4, run);
    launch->run();
  };
}

KernelFunction plan_cumsum(const KernelContext& context, const Context& device) {
  const Tensor& x = context.in(0);
  const auto sum = std::make_shared<RunningSum>(
      device, x.dtype(), AxisSplit(x.shape(), context.axis("axis", x.rank())),
      RunningSum::Options{.exclusive = context.attr<bool>("exclusive"),
                          .reverse = context.attr<bool>("reverse")});
  return [sum](KernelContext& run) { sum->run(run.in(0).raw(), run.out().raw()); };
}

}  // namespace

// Threads of a block lie beside each other along what is packed, as in reductions.
std::string choice_text(DType dtype, bool largest) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/choice.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
using Fold = FoldChoice<{}>;
using Best = Candidate<Compute<T>>;
struct Arguments {{
  long long lines, size, inner;
  const T* x;
  long long* out;
}};
extern "C" __global__ void choose(const Arguments a) {{
  __shared__ Best shared[{}];
  const bool columns = blockDim.y > 1;
  const long long width = columns ? blockDim.x : 1;
  for (long long first = blockIdx.x * width; first < a.lines; first += gridDim.x * width) {{
    const long long line = first + (columns ? threadIdx.x : 0);
    Best best = {{Compute<T>(0), -1}};
    if (line < a.lines) {{
      const T* const start = a.x + line / a.inner * a.size * a.inner + line % a.inner;
      const long long step = columns ? blockDim.y : blockDim.x;
      for (long long i = columns ? threadIdx.y : threadIdx.x; i < a.size; i += step) {{
        best = Fold::join(best, Best{{load<T>(start[i * a.inner]), i}});
      }}
    }}
    best = join_block<Fold>(best, shared);
    if (line < a.lines && (columns ? threadIdx.y : threadIdx.x) == 0) {{
      a.out[line] = best.at;
    }}
  }}
}}
)",
                     storage_type(dtype), largest, kBlock);
}

void register_along_axis(KernelTable& kernels, const Context& device) {
  for (const OpDef* def : along_axis_family()) {
    if (def->name == "cumsum") {
      kernels.add(
          *def,
          {.name = "block per line",
           .supports = [](Op) { return Support{}; },
           .plan = [device](const KernelContext& context) { return plan_cumsum(context, device); },
           .in_place = true});
      continue;
    }
    kernels.add(*def, {.name = "block search",
                       .supports = [](Op) { return Support{}; },
                       .plan =
                           [device, largest = def->name == "argmax"](const KernelContext& context) {
                             return plan_choice(context, device, largest);
                           }});
  }
}

}  // namespace antichain::cuda
