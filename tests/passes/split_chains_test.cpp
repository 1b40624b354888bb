// What no later step needs leaves the bodies of chains, and every value stays.
#include "antichain/passes/chains/split_chains.h"

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/nn/recurrent.h"
#include "antichain/nn/residual.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::split_chains_test {

// How many ops of a kind run inside of chains.
std::size_t count_in_bodies(const GraphCopy& copy, std::string_view name) {
  std::size_t found = 0;
  for (Op op : schedule(*copy.graph, copy.values)) {
    if (&op.def() == &chain_def()) {
      for (Op inner : schedule_region(*copy.graph, op.regions()[0])) {
        found += inner.def().name == name ? 1 : 0;
      }
    }
  }
  return found;
}

using Build = std::function<Vars(Graph& graph)>;

std::vector<Tensor> results_of(const Build& build, bool split) {
  Session session;
  Graph graph = session.graph();
  const Executable run = session.compile(build(graph), {.compiler = {.split_chains = split}});
  Feeds feeds;
  for (Op input : graph.inputs()) {
    Shape shape;
    for (Dim dim : input.output().shape()) {
      shape.push_back(dim.is_constant() ? dim.constant() : 5);
    }
    feeds[input.output().name()] = wave(shape);
  }
  return run(feeds).tensors();
}

void expect_equal_results(const Build& build) {
  const std::vector<Tensor> plain = results_of(build, false), split = results_of(build, true);
  ASSERT_EQ(plain.size(), split.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(plain[i].shape(), split[i].shape()) << i;
    const std::vector<float> a = plain[i].to_vector<float>(), b = split[i].to_vector<float>();
    for (std::size_t n = 0; n < a.size(); ++n) {
      ASSERT_NEAR(a[n], b[n], 2e-5 * (1 + std::abs(a[n]))) << i << " at " << n;
    }
  }
}

Vars residual_gradients(Graph& graph) {
  const Var u = graph.input("u", f32, {"batch", 6});
  const Var loss = sum(square(nn::residual(u, 7, {.step = 0.3}).last));
  const Vars gradients =
      grad(loss, {graph.current_read("residual.weight"), graph.current_read("residual.bias"), u});
  return {loss, gradients[0], gradients[1], gradients[2]};
}

TEST(SplitChains, GradientsOfWeightsAreOneProduct) {
  Session session;
  Graph graph = session.graph();
  const Vars values = residual_gradients(graph);
  const GraphCopy plain = copy_graph(graph, values, {});
  EXPECT_EQ(count_in_bodies(plain, "matmul"), 4U);  // one forwards, three backwards
  EXPECT_EQ(count_in_bodies(plain, "sum_to"), 1U);
  const GraphCopy split = apply_pass(split_chains, graph, values);
  EXPECT_EQ(count_in_bodies(split, "matmul"), 2U);  // from state to state
  EXPECT_EQ(count_in_bodies(split, "sum_to"), 0U);
  EXPECT_EQ(count_needed(split, "matmul"), 2U);
  expect_equal_results(residual_gradients);
}

TEST(SplitChains, SumsOverStepsAreOneSum) {
  const Build build = [](Graph& graph) -> Vars {
    const Var xs = graph.input("xs", f32, {6, "batch", 3});
    const nn::Recurrent gru = nn::gru(xs, 4);
    const Var loss = sum(square(gru.all)) + sum(gru.last);
    const Vars gradients =
        grad(loss, {graph.current_read("gru.bias_hh"), graph.current_read("gru.weight_hh"), xs});
    return {loss, gradients[0], gradients[1], gradients[2]};
  };
  Session session;
  Graph graph = session.graph();
  const Vars values = build(graph);
  EXPECT_GT(count_in_bodies(copy_graph(graph, values, {}), "sum_to"), 0U);
  EXPECT_EQ(count_in_bodies(apply_pass(split_chains, graph, values), "sum_to"), 0U);
  expect_equal_results(build);
}

TEST(SplitChains, ReadoutsLeaveTheChain) {
  const Build build = [](Graph& graph) -> Vars {
    const Var h = graph.input("h", f32, {"batch", 4}),
              xs = graph.input("xs", f32, {5, h.dim(0), 4});
    const Var w = graph.input("w", f32, {4, 3}), b = graph.input("b", f32, {3});
    const ChainResult found =
        chain({h}, {xs}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
          const Var next = tanh(s[0] + x[0]);
          const Var logits = matmul(next, w) * 0.5 + b;
          return {{next}, {logits, sum(logits, {1}), mean(logits), matmul(w, x[0], {true, true})}};
        });
    return {found.last[0], found.ys[0], found.ys[1], found.ys[2], found.ys[3]};
  };
  Session session;
  Graph graph = session.graph();
  const GraphCopy split = apply_pass(split_chains, graph, build(graph));
  EXPECT_EQ(count_in_bodies(split, "matmul"), 0U);
  EXPECT_EQ(count_in_bodies(split, "multiply"), 0U);
  EXPECT_EQ(count_in_bodies(split, "tanh"), 1U);
  expect_equal_results(build);
}

TEST(SplitChains, WhatNeedsNoStateComesBefore) {
  const Build build = [](Graph& graph) -> Vars {
    const Var h = graph.input("h", f32, {"batch", 4}),
              xs = graph.input("xs", f32, {5, h.dim(0), 3});
    const Var w = graph.input("w", f32, {3, 8}), v = graph.input("v", f32, {8, 8});
    const ChainResult found =
        chain({h}, {xs}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
          const Var inner = tanh(matmul(x[0], matmul(w, v)) + 1);
          return {{s[0] * slice(inner, {{.axis = 1, .start = 2, .stop = 6}})}, {inner}};
        });
    return {found.last[0], found.ys[0]};
  };
  Session session;
  Graph graph = session.graph();
  const GraphCopy split = apply_pass(split_chains, graph, build(graph));
  EXPECT_EQ(count_in_bodies(split, "matmul"), 0U);
  EXPECT_EQ(count_in_bodies(split, "tanh"), 0U);
  EXPECT_EQ(count_in_bodies(split, "multiply"), 1U);
  EXPECT_EQ(count_needed(split, "matmul"), 2U);
  expect_equal_results(build);
}

TEST(SplitChains, WhatStepsNeedStays) {
  const Build build = [](Graph& graph) -> Vars {
    const Var h = graph.input("h", f32, {3, 4}), w = graph.input("w", f32, {4, 4});
    const Var total = graph.input("total", f32, {4});
    const ChainResult found =
        chain({h, total}, {},
              [&](Var step, const Vars& s, const Vars&) -> StepResult {
                const Var product = matmul(s[0], w);
                return {{tanh(product), s[1] + sum(product, {0})},
                        {product, s[1] * 2, matmul(s[0], w, {false, true}) * cast(step, f32)}};
              },
              {.reverse = true, .length = 4});
    return {found.last[0], found.last[1], found.before[1], found.ys[0], found.ys[1], found.ys[2]};
  };
  Session session;
  Graph graph = session.graph();
  const GraphCopy split = apply_pass(split_chains, graph, build(graph));
  EXPECT_EQ(count_in_bodies(split, "matmul"), 1U);
  EXPECT_EQ(count_in_bodies(split, "sum"), 1U);  // of a state that has readers
  expect_equal_results(build);
}

TEST(SplitChains, NoSteps) {
  expect_equal_results([](Graph& graph) -> Vars {
    const Var h = graph.input("h", f32, {3, 4}), w = graph.input("w", f32, {4, 2});
    const Var xs = graph.input("xs", f32, {0, 3, 4});
    const ChainResult found =
        chain({h}, {xs}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
          return {{s[0] + x[0]}, {matmul(s[0], w)}};
        });
    return {found.last[0], found.ys[0]};
  });
}

// What is computed before the chain has read the biases; nobody has read the last sequence.
TEST(SplitChains, SequencesThatNoStepReadsAreLeftOut) {
  const Build build = [](Graph& graph) {
    const Var h = graph.input("h", f32, {4, 6}), unread = graph.input("unread", f32, {9, 4});
    const Var xs = graph.input("xs", f32, {9, 4, 5}), w = graph.input("w", f32, {5, 6});
    const Var bs = graph.input("bs", f32, {9, 6});
    const ChainResult found =
        chain({h}, {xs, unread, bs}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
          return {{s[0] * 0.5 + tanh(matmul(x[0], w) + x[2])}};
        });
    return Vars{found.last[0], found.before[0]};
  };
  expect_equal_results(build);
  Graph graph;
  const GraphCopy copy = run_passes(graph, build(graph), {}, {.split_chains = true});
  for (Op op : schedule(*copy.graph, copy.values)) {
    if (&op.def() == &chain_def()) {
      EXPECT_EQ(ChainLayout(op).xs, 1);
    }
  }
}

}  // namespace antichain::split_chains_test
