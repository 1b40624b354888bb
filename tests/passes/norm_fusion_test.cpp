// Batch norm where a device has no kernel for it: what is computed together, and what is kept in
// memory between.
#include <algorithm>
#include <cmath>

#include "antichain/graph/traversal.h"
#include "antichain/nn/layers.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/optim/sgd.h"
#include "antichain/passes/fusion/fuse_elementwise.h"
#include "antichain/passes/simplify/release_waits.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::norm_fusion_test {

constexpr std::int64_t kBatch = 3, kChannels = 8, kSide = 6;

// As a backend that has no kernel for the norms, and wants channels last around convolutions.
CompilerOptions as_on_a_gpu() {
  return {.level = 3,
          .layout_gain = [](Op op) { return op.def().name.starts_with("conv") ? 1.0 : 0.0; },
          .is_missing =
              [](Op op) {
                return &op.def() == &batch_norm_def() || &op.def() == &batch_norm_gradient_def() ||
                       &op.def() == &batch_norm_inference_def();
              },
          .recompute = true};
}

Var conv_norm(Var x, const std::string& name) {
  const ScopeGuard scope(x.graph(), name);
  return nn::batch_norm(nn::conv2d(x, kChannels, {3, 3}, {.padding = {1, 1}, .bias = false}),
                        {.training = true});
}

// The loss of two blocks of a residual network.
Var residual_loss(Var x) {
  for (const char* block : {"a", "b"}) {
    const ScopeGuard scope(x.graph(), block);
    x = relu(conv_norm(relu(conv_norm(x, "1")), "2") + x);
  }
  return mean(square(cast(x, f32)));
}

bool is_activation(Var value) { return value.rank() == 4 && value.dim(0) == Dim(kBatch); }

TEST(NormFusion, EveryActivationIsWrittenOnce) {
  for (const DType dtype : {bf16, f32}) {
    SCOPED_TRACE(std::string(name(dtype)));
    Graph graph;
    const Var loss = residual_loss(graph.input("x", dtype, {kBatch, kChannels, kSide, kSide}));
    std::vector<Op> effects;
    for (Var update : optim::sgd(loss, {.lr = 0.1})) {
      effects.push_back(update.producer());
    }
    const GraphCopy copy = run_passes(graph, {{loss}}, effects, as_on_a_gpu());
    std::ptrdiff_t large = 0, small = 0;
    for (Op op : schedule(*copy.graph, copy.values, copy.ops)) {
      const std::vector<Var> outputs = op.outputs();
      for (Var output : outputs) {
        EXPECT_TRUE(!is_activation(output) || output.dtype() == dtype) << op.def().name;
      }
      if (&op.def() == &fused_def() || is_elementwise(op.def())) {
        large += std::ranges::count_if(outputs, is_activation);
        small += op.output().rank() == 1 ? 1 : 0;
      }
    }
    EXPECT_EQ(count_needed(copy, "channel_moments"), 4U);
    EXPECT_EQ(count_needed(copy, "channel_gradient_sums"), 4U);
    EXPECT_EQ(large, 8) << "one per norm, forwards and backwards";
    EXPECT_EQ(small, 4) << "one per norm, with the running statistics";
    EXPECT_EQ(count_needed(copy, "assign"), 8U);
  }
}

// The loss of three steps, and all states behind them.
std::vector<Tensor> trained(DType dtype, const CompilerOptions& options) {
  Session session({.seed = 3});
  Graph graph = session.graph();
  const Var loss = residual_loss(graph.input("x", dtype, {kBatch, kChannels, kSide, kSide}));
  const Executable step =
      session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.01}), .compiler = options});
  std::vector<Tensor> found;
  for (int i = 0; i < 3; ++i) {
    found.push_back(step({{"x", wave({kBatch, kChannels, kSide, kSide}, dtype)}})[0]);
  }
  for (const auto& [name, value] : session.states().all()) {
    found.push_back(value);
  }
  return found;
}

TEST(NormFusion, TrainsAsTheWholeNormsDo) {
  for (const DType dtype : {f32, f64, bf16}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const std::vector<Tensor> whole = trained(dtype, {.level = 0});
    const std::vector<Tensor> parts = trained(dtype, as_on_a_gpu());
    ASSERT_EQ(whole.size(), parts.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const std::vector<double> a = whole[i].cast(f64).to_vector<double>(),
                                b = parts[i].cast(f64).to_vector<double>();
      for (std::size_t n = 0; n < a.size(); ++n) {
        ASSERT_NEAR(a[n], b[n], (dtype == bf16 ? 2e-2 : 1e-5) * (1 + std::abs(a[n]))) << i;
      }
    }
  }
}

TEST(NormFusion, NobodyWaitsForWritesThatRunAnyway) {
  Graph graph;
  const Var x = graph.input("x", f32, {kBatch, kChannels});
  const Var y = relu(nn::batch_norm(x, {.training = true}));
  const GraphCopy before = copy_graph(graph, {{y}}, {});
  EXPECT_EQ(count_needed(before, "reshape"), 1U);
  const GraphCopy after = release_waits(before);
  verify(*after.graph);
  EXPECT_EQ(count_needed(after, "reshape"), 0U);
  EXPECT_EQ(after.ops.size(), 2U) << "the writes, which are asked for now";
  EXPECT_EQ(release_waits(after).ops.size(), 2U);
}

std::size_t kept_wide(const GraphCopy& copy) {
  std::size_t count = 0;
  for (Op op : schedule(*copy.graph, copy.values, copy.ops)) {
    for (Var output : op.outputs()) {
      count += output.dtype() == f32 && output.shape() == Dims{32, 40} ? 1 : 0;
    }
  }
  return count;
}

// Two groups that cannot be one, because a product lies between, read one wide value.
struct TwoReaders {
  Graph graph;
  Var x = graph.input("x", bf16, {32, 40}), w = graph.input("w", f32, {40, 40});
  Var shift = graph.input("shift", f32, {40});
  Var wide = cast(x, f32) - shift;
  Var first = cast(sin(wide), bf16);
  Var second = cast(cos(cast(matmul(first, cast(w, bf16)), f32)) * wide, bf16);
};

TEST(RecomputedValues, AreNotKept) {
  TwoReaders two;
  const GraphCopy kept = apply_pass(fuse_elementwise, two.graph, {two.second});
  EXPECT_EQ(kept_wide(kept), 1U);
  const GraphCopy again = apply_pass(fuse_recomputing, two.graph, {two.second});
  EXPECT_EQ(kept_wide(again), 0U);
}

TEST(RecomputedValues, AreKeptWhereSomebodyElseReadsThem) {
  TwoReaders two;
  EXPECT_EQ(kept_wide(apply_pass(fuse_recomputing, two.graph, {two.second, two.wide})), 1U);
  const Var product = matmul(two.wide, two.w);
  const GraphCopy copy = apply_pass(fuse_recomputing, two.graph, {two.second, product});
  EXPECT_EQ(kept_wide(copy), 2U) << "it, and the product";
  // Of what is cheap, one op may be kept for others and still be computed again.
  const Var converted = cast(two.x, f32);
  EXPECT_EQ(kept_wide(apply_pass(fuse_recomputing, two.graph, {two.second, converted})), 1U);
}

TEST(RecomputedValues, HaveTheSameBits) {
  const auto run = [](bool recompute) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", bf16, {32, 40});
    const Var wide = (cast(x, f32) - 0.25) * reshape(sin(iota(graph, f32, 32)), {32, 1});
    const Var first = cast(sin(wide) + sum(wide, {1}, true), bf16);
    const Var w = cast(reshape(cos(iota(graph, f32, 1600)), {40, 40}), bf16);
    const Var second = cast(cos(cast(matmul(first, w), f32)) * wide + wide, bf16);
    const Executable compiled = session.compile({first, second, sum(second, {0}), cast(x, f32)},
                                                {.compiler = {.recompute = recompute}});
    return compiled({{"x", wave({32, 40}, bf16)}}).tensors();
  };
  const std::vector<Tensor> kept = run(false), again = run(true);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_TRUE(bit_equal(kept[i], again[i])) << i;
  }
}

}  // namespace antichain::norm_fusion_test
