#include "benchmarks/machine.h"

#include <cstring>
#include <map>
#include <vector>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/tensor/tensor.h"

namespace antichain::bench {

namespace {

constexpr int kLanes = 16, kChains = 12;  // enough independent sums to hide the latency of an FMA
constexpr std::int64_t kRounds = 1 << 16;

// The compiler keeps the sums in registers and makes each inner loop one instruction or two.
#ifdef __x86_64__
[[gnu::target_clones("avx512f", "avx2,fma", "default"), gnu::optimize("O3")]]
#endif
float multiply_add(float factor) {
  using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  Lanes sums[kChains];
  const Lanes step = Lanes{} + factor;
  for (int i = 0; i < kChains; ++i) {  // all different, or the compiler computes only one
    sums[i] = step + static_cast<float>(i);
  }
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (Lanes& sum : sums) {
      sum = sum * step + step;
    }
  }
  Lanes total = {};
  for (const Lanes& sum : sums) {
    total += sum;
  }
  return total[0];
}

}  // namespace

double peak_flops() {
  static const double flops = [] {
    const int threads = cpu::num_threads();
    volatile float sink = 0;
    const double seconds = best_time([&] {
      cpu::parallel_tasks(threads, [&sink](std::int64_t) { sink = multiply_add(0.5F); });
    });
    return 2.0 * kLanes * kChains * static_cast<double>(kRounds) * threads / seconds;
  }();
  return flops;
}

double copy_bandwidth(std::int64_t bytes) {
  static std::map<std::int64_t, double> known;
  const auto [found, is_new] = known.try_emplace(bytes);
  if (is_new) {
    const Tensor from = Tensor::zeros(u8, {bytes}), to = Tensor::zeros(u8, {bytes});
    auto* const target = static_cast<std::byte*>(to.raw());
    const auto* const source = static_cast<const std::byte*>(from.raw());
    double best = std::numeric_limits<double>::infinity();
    for (std::int64_t grain : {32 * 1024, 128 * 1024, 512 * 1024, 4096 * 1024}) {
      best = std::min(
          best, best_time([&] {
            cpu::parallel_ranges(bytes, grain, [&](std::int64_t first, std::int64_t last) {
              std::memcpy(target + first, source + first, static_cast<std::size_t>(last - first));
            });
          }));
    }
    found->second = 2 * static_cast<double>(bytes) / best;
  }
  return found->second;
}

}  // namespace antichain::bench
