#include "antichain/backends/cuda/indexing/running_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/elementwise/element_code.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kMostSumThreads = 1024;  // of a block: as many sums lie in shared memory
constexpr std::int64_t kFewestSumThreads = 32;

unsigned threads_for(std::int64_t size) {
  const auto wanted = std::clamp(size, kFewestSumThreads, kMostSumThreads);
  return std::bit_ceil(static_cast<unsigned>(wanted));
}

std::int64_t blocks_for(const AxisSplit& lines) {
  return lines.size == 0 ? 0 : std::min(kMostBlocks, lines.outer * lines.inner);
}

}  // namespace

// A thread adds up its part of the line, hears what is in front of it, and goes through it again.
std::string running_sum_text(DType dtype) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/fold.cuh"
#include "antichain/backends/cuda/device/scan.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
struct Arguments {{
  long long lines, size, inner, exclusive, reverse;
  const T* x;
  T* out;
}};
extern "C" __global__ void running_sum(const Arguments a) {{
  __shared__ Total<T> shared[{}];
  const Chunk chunk(a.size);
  for (long long line = blockIdx.x; line < a.lines; line += gridDim.x) {{
    const long long first = line / a.inner * a.size * a.inner + line % a.inner;
    const auto place = [&](long long position) {{
      return first + (a.reverse ? a.size - 1 - position : position) * a.inner;
    }};
    Total<T> own = 0;
    for (long long i = chunk.begin; i < chunk.end; ++i) {{
      own = functors::Add()(own, Total<T>(load<T>(a.x[place(i)])));
    }}
    Total<T> total = sum_before(own, shared);
    for (long long i = chunk.begin; i < chunk.end; ++i) {{
      const Total<T> before = total;
      total = functors::Add()(total, Total<T>(load<T>(a.x[place(i)])));
      a.out[place(i)] = stored<T>(Compute<T>(a.exclusive ? before : total));
    }}
  }}
}}
)",
                     storage_type(dtype), kMostSumThreads);
}

RunningSum::RunningSum(const Context& device, DType dtype, const AxisSplit& lines,
                       const Options& options)
    : launch_(device, running_sum_text(dtype), "running_sum", blocks_for(lines),
              dim3(threads_for(lines.size)),
              {lines.outer * lines.inner, lines.size, lines.inner, options.exclusive,
               options.reverse, 0, 0}) {}

void RunningSum::run(const void* values, const void* result) {
  launch_.set(5, values);
  launch_.set(6, result);
  launch_.run();
}

}  // namespace antichain::cuda
