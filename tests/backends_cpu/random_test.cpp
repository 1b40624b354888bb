// Draws of any size: every kernel gives the reference's bits, on any number of threads.
#include "antichain/ops/state/random.h"

#include <gtest/gtest.h>

#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"

namespace antichain::cpu::random_test {

TEST(RandomKernels, GiveTheReferencesBits) {
  Draw draw(51);
  int checked = 0;
  for (const std::int64_t size : {1, 2, 3, 5, 511, 1023, 1025, 4099, 16385, 50001}) {
    const Tensor key =
        Tensor::of<std::int64_t>({2}, {draw.between(-9, 9), draw.between(0, 1LL << 40)});
    const auto check = [&](const OpDef& def, auto build) {
      checked += expect_kernels_agree({def,
                                       {key},
                                       [&](Graph& graph, std::span<const Var> in) {
                                         return std::vector<Var>{build(graph, in[0])};
                                       }},
                                      0, def.name + " of " + std::to_string(size));
    };
    for (const DType dtype : {f32, f64, bf16, f16}) {
      check(random_uniform_def(),
            [&](Graph& graph, Var from) { return random_uniform(graph, dtype, {size}, {from}); });
      check(random_normal_def(),
            [&](Graph& graph, Var from) { return random_normal(graph, dtype, {size}, {from}); });
    }
    check(random_bernoulli_def(),
          [&](Graph& graph, Var from) { return random_bernoulli(graph, 0.3, {size}, {from}); });
  }
  EXPECT_GE(checked, 90);
}

}  // namespace antichain::cpu::random_test
