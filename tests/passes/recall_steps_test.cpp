// What a chain has returned is read instead of being computed again; whatever differs is computed.
#include "antichain/passes/chains/recall_steps.h"

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::recall_steps_test {

// A recurrent chain, tanh(x + h w) + b, and what is needed to write it down for all steps.
struct Recurrence {
  explicit Recurrence(bool reverse = false, Dim length = 5) {
    h = graph.input("h", f32, {"batch", 4});
    xs = graph.input("xs", f32, {DimSpec(length), h.dim(0), 4});
    w = graph.input("w", f32, {4, 4});
    b = graph.input("b", f32, {4});
    found = chain({h}, {xs},
                  [&](Var, const Vars& s, const Vars& x) -> StepResult {
                    const Var next = tanh(x[0] + matmul(s[0], w)) + b;
                    return {{next}, {next, s[0], sum(next, {1})}};
                  },
                  {.reverse = reverse});
  }

  Var all_steps(Var states, Var weight) const { return tanh(xs + matmul(states, weight)) + b; }
  // How many of the ops behind a value are not in the chain.
  std::size_t num_outside(Var value, std::string_view op) {
    return count_needed(apply_pass(recall_steps, graph, {value}), op);
  }

  Graph graph;
  Var h, xs, w, b;
  ChainResult found;
};

TEST(RecallSteps, ResultsAreNotComputedAgain) {
  for (const bool reverse : {false, true}) {
    Recurrence r(reverse);
    const Var again = r.all_steps(r.found.before[0], r.w);
    EXPECT_EQ(count_needed(copy_graph(r.graph, {{again}}, {}), "tanh"), 1U);
    EXPECT_EQ(r.num_outside(again, "tanh"), 0U);
    EXPECT_EQ(r.num_outside(again, "matmul"), 0U);
    EXPECT_EQ(r.num_outside(square(again), "square"), 1U);
    EXPECT_EQ(r.num_outside(sum(again, {2}), "sum"), 0U);
    const GraphCopy copy = apply_pass(recall_steps, r.graph, {again});
    const Op chain = copy.values[0].producer();
    EXPECT_EQ(copy.values[0], chain.output(ChainLayout(chain).first_y()));
  }
}

TEST(RecallSteps, WhatDiffersIsComputed) {
  Recurrence r;
  const Var before = r.found.before[0];
  const Var other = r.graph.input("other", f32, {4, 4});
  for (const Var value :
       {r.all_steps(before, other), r.all_steps(before * 2, r.w), r.all_steps(r.found.ys[0], r.w),
        tanh(r.xs + matmul(before, r.w, {false, true})) + r.b,
        tanh(r.xs + matmul(before, r.w)) + r.graph.input("c", f32, {4}),
        tanh(2 * r.xs + matmul(before, r.w)) + r.b}) {
    EXPECT_EQ(r.num_outside(value, "tanh"), 1U);
    EXPECT_EQ(r.num_outside(value, "matmul"), 1U);
  }
  EXPECT_EQ(r.num_outside(exp(r.xs + matmul(before, r.w)) + r.b, "exp"), 1U);
}

// Every step draws numbers of its own.
TEST(RecallSteps, DrawsAreLeftAlone) {
  Graph graph;
  const Var h = graph.input("h", f32, {3});
  const auto draw = [&] { return random_uniform(graph, f32, {3}); };
  const ChainResult found = chain({h}, {},
                                  [&](Var, const Vars& s, const Vars&) -> StepResult {
                                    const Var next = s[0] + draw();
                                    return {{next}, {next}};
                                  },
                                  {.length = 4});
  const GraphCopy copy = apply_pass(recall_steps, graph, {found.before[0] + draw()});
  EXPECT_EQ(count_needed(copy, "add"), 1U);
}

std::vector<std::vector<float>> gradients_of(const std::string& engine, bool recall) {
  SessionOptions options;
  if (engine == "scan") {
    options.engines = {"scan:when=always"};
  }
  Session session(options);
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f32, {7, "batch", 3});
  const nn::Recurrent rnn = nn::rnn(xs, 4, {.engine = engine});
  const Var loss = sum(square(rnn.all)) + sum(rnn.last);
  Vars values =
      grad(loss, {graph.current_read("rnn.weight_hh"), graph.current_read("rnn.bias_hh"), xs});
  CompilerOptions compiler{.split_chains = true};
  if (!recall) {
    compiler.disabled = {"recall-steps"};
  }
  const GraphCopy copy = run_passes(graph, values, {}, compiler);
  std::size_t tanhs = 0;  // outside of the chains
  for (Op op : schedule(*copy.graph, copy.values)) {
    const AttrValue* label = op.attrs().find("label");
    const std::string ops = ", " + (label ? std::get<std::string>(*label) : op.def().name) + ", ";
    tanhs += ops.find(", tanh, ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(tanhs, recall ? 0U : 1U) << engine;
  const Executable run = session.compile(values, {.compiler = compiler});
  std::vector<std::vector<float>> found;
  const std::vector<Tensor> tensors = run({{"xs", wave({7, 2, 3})}}).tensors();
  for (const Tensor& tensor : tensors) {
    found.push_back(tensor.to_vector<float>());
  }
  return found;
}

TEST(RecallSteps, GradientsOfALayerStay) {
  for (const char* engine : {"backprop", "scan"}) {
    const auto plain = gradients_of(engine, false), recalled = gradients_of(engine, true);
    ASSERT_EQ(plain.size(), recalled.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      for (std::size_t n = 0; n < plain[i].size(); ++n) {
        EXPECT_NEAR(plain[i][n], recalled[i][n], 1e-5 * (1 + std::abs(plain[i][n])));
      }
    }
  }
}

TEST(RecallSteps, NoSteps) {
  Recurrence r(false, 0);
  EXPECT_EQ(r.num_outside(r.all_steps(r.found.before[0], r.w), "tanh"), 0U);
}

}  // namespace antichain::recall_steps_test
