// Which conversions become one, and that they change nothing else.
#include "antichain/passes/fusion/batch_casts.h"

#include "antichain/graph/traversal.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::batch_casts_test {

std::size_t num_values(const GraphCopy& copy) {
  std::size_t values = 0;
  for (Op op : schedule(*copy.graph, copy.values, copy.ops)) {
    values += op.def().name == "cast_all" ? static_cast<std::size_t>(op.num_outputs()) : 0;
  }
  return values;
}

TEST(BatchCasts, WhatIsThereIsConvertedFirst) {
  Graph graph;
  const Var x = graph.input("x", f32, {4, 4}), y = graph.input("y", f32, {4, 4}),
            z = graph.input("z", f64, {4, 4});
  const Var first = matmul(cast(x, bf16), cast(x, bf16));
  const Var second = matmul(first, cast(y, bf16));
  const GraphCopy copy = apply_pass(batch_casts, graph, {second, cast(z, bf16)});
  EXPECT_EQ(count_needed(copy, "cast_all"), 1U);
  EXPECT_EQ(num_values(copy), 2U);
  EXPECT_EQ(count_needed(copy, "cast"), 1U);  // of another type
}

TEST(BatchCasts, OthersWaitUntilOneIsNeeded) {
  Graph graph;
  const Var x = graph.input("x", bf16, {4, 4});
  const Var a = cast(exp(x), f32), b = cast(tanh(x), f32);
  const Var c = cast(cast(matmul(a, b), bf16), f32);
  const Var d = cast(sin(x), f32);
  const GraphCopy copy = apply_pass(batch_casts, graph, {c, d});
  EXPECT_EQ(num_values(copy), 4U);
  EXPECT_EQ(count_needed(copy, "cast_all"), 2U);
  EXPECT_EQ(count_needed(copy, "cast"), 1U);
}

TEST(BatchCasts, LargeOnesStayByThemselves) {
  Graph graph;
  const Var x = graph.input("x", f32, {1025, 1024}), y = graph.input("y", f32, {"n"}),
            z = graph.input("z", f32, {3});
  const GraphCopy copy =
      apply_pass(batch_casts, graph, {cast(x, bf16), cast(y, bf16), cast(z, bf16)});
  EXPECT_EQ(count_needed(copy, "cast_all"), 0U);
  EXPECT_EQ(count_needed(copy, "cast"), 3U);
}

TEST(BatchCasts, BodiesStayAsTheyAre) {
  Graph graph;
  const Var x = graph.input("x", f32, {3}), y = graph.input("y", f32, {4});
  const Vars last =
      chain({x, y}, {},
            [](Var, const Vars& states, const Vars&) -> StepResult {
              return {{cast(cast(states[0], bf16), f32), cast(cast(states[1], bf16), f32)}, {}};
            },
            {.length = 3})
          .last;
  const GraphCopy copy = apply_pass(batch_casts, graph, last);
  EXPECT_FALSE(has_op(*copy.graph, [](Op op) { return op.def().name == "cast_all"; }));
}

// A step of training has the same bits, and parameters are converted by one op.
TEST(BatchCasts, TrainingIsTheSame) {
  const auto train = [](bool together) {
    Session session({.seed = 3});
    Graph graph = session.graph();
    const Var x = cast(graph.input("x", f32, {6, 7}), bf16);
    const std::vector<std::int64_t> widths = {5, 3};
    const Var loss = mean(nn::cross_entropy(nn::mlp(x, widths), graph.input("label", i64, {6})));
    CompilerOptions options;
    options.batch_updates = together;
    const Executable run = session.compile(
        {loss}, {.updates = optim::sgd(loss, {.lr = 0.1, .momentum = 0.9}), .compiler = options});
    std::vector<Tensor> losses;
    const Tensor label = Tensor::of<std::int64_t>({6}, {0, 1, 2, 2, 1, 0});
    for (int i = 0; i < 3; ++i) {
      losses.push_back(run({{"x", wave({6, 7})}, {"label", label}})[0]);
    }
    return losses;
  };
  const std::vector<Tensor> alone = train(false), together = train(true);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_TRUE(bit_equal(alone[i], together[i])) << i;
  }
}

}  // namespace antichain::batch_casts_test
