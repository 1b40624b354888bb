// What is chosen on a GPU, from sizes alone; no GPU is needed.
#include "antichain/engines/multigrid/gpu_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "antichain/engines/multigrid/cycles.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::gpu_choice_test {

using multigrid::GpuChoice;
using multigrid::SolveOptions;
using testing::HasSubstr;
using testing::StartsWith;

constexpr SolveOptions kThreeGrids = {
    .levels = 3, .coarsening = 8, .cycles = 1, .coarse = multigrid::CoarseStep::matched};

GpuChoice choice(std::int64_t width, const DimSpec& batch, std::int64_t steps,
                 const SolveOptions& options = kThreeGrids) {
  Graph graph;
  const Var u = graph.input("u", f32, {batch, width}),
            w = graph.input("w", f32, {steps, width, width}),
            b = graph.input("b", f32, {steps, width});
  const ChainResult found = chain({u}, {w, b}, [](Var, const Vars& s, const Vars& x) -> StepResult {
    return {{s[0] + 0.01 * tanh(matmul(s[0], x[0]) + x[1])}};
  });
  const Op op = found.last[0].producer();
  return multigrid::choose_on_gpu(op, options, multigrid::num_levels(Dim(steps), options));
}

TEST(GpuChoice, LongChainsOfFewRowsGoByMultigrid) {
  for (const std::int64_t width : {64, 128, 256}) {
    for (const std::int64_t batch : {16, 64}) {
      const GpuChoice found = choice(width, batch, 1024);
      EXPECT_TRUE(found.by_multigrid) << found.reason;
      EXPECT_THAT(found.reason, StartsWith("by multigrid: 1024 steps take about "));
    }
  }
}

TEST(GpuChoice, ManyRowsOrFewStepsGoStepByStep) {
  for (const GpuChoice& found :
       {choice(64, 4096, 1024), choice(256, 4096, 1024), choice(64, 64, 32)}) {
    EXPECT_FALSE(found.by_multigrid) << found.reason;
    EXPECT_THAT(found.reason, StartsWith("step by step: "));
    EXPECT_THAT(found.reason, HasSubstr("when=always"));
  }
}

// More cycles take longer, and at some number the steps one after the other are faster.
TEST(GpuChoice, ManyCyclesGoStepByStep) {
  SolveOptions options = kThreeGrids;
  options.cycles = 40;
  EXPECT_FALSE(choice(64, 64, 1024, options).by_multigrid);
}

TEST(GpuChoice, NothingIsChosenThatIsNotKnown) {
  const GpuChoice unknown = choice(64, "batch", 1024);
  EXPECT_FALSE(unknown.by_multigrid);
  EXPECT_THAT(unknown.reason, HasSubstr("nobody has said how large batch is to be expected"));
  Graph graph;
  const Var u = graph.input("u", f32, {2, 3, 8, 8}), w = graph.input("w", f32, {64, 3, 3, 3, 3});
  const ChainResult found = chain({u}, {w}, [](Var, const Vars& s, const Vars& x) -> StepResult {
    return {{s[0] + 0.1 * tanh(conv(s[0], x[0], {.padding = {1, 1}}))}};
  });
  EXPECT_EQ(multigrid::choose_on_gpu(found.last[0].producer(), kThreeGrids, 3).reason,
            "step by step: nobody has measured chains with conv in them on a GPU");
}

}  // namespace antichain::gpu_choice_test
