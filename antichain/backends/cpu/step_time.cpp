#include "antichain/backends/cpu/step_time.h"

#include "antichain/backends/cpu/threads/work_blocks.h"
#include "antichain/ops/op_cost.h"

namespace antichain::cpu {

namespace {

// Round numbers for one core of a server CPU: f32 products, and traffic to the second-level cache
// and to memory. Only ratios between steps matter.
constexpr double kFlopsPerSecond = 80e9, kCachedBytesPerSecond = 40e9, kBytesPerSecond = 10e9;
constexpr double kCacheBytes = 1 << 20;
constexpr double kSecondsPerCall = 3e-7, kSecondsPerFork = 3e-6;
constexpr double kParallelElements = 32 * 1024;  // from which on most kernels use threads

}  // namespace

StepTime step_time(Op op, const DimEnv& sizes, int threads) {
  StepTime time;
  for_each_work(op, sizes, [&](const OpWork& work) {
    const double rate = work.bytes < kCacheBytes ? kCachedBytesPerSecond : kBytesPerSecond;
    const double alone = kSecondsPerCall + work.flops / kFlopsPerSecond + work.bytes / rate;
    const bool forks = wanted_blocks(work.flops / 2) > 1 || work.elements >= kParallelElements;
    time.alone += work.times * alone;
    time.together += work.times * (forks ? kSecondsPerFork + alone / threads : alone);
  });
  return time;
}

}  // namespace antichain::cpu
