// Jacobians of steps as weights between diagonals: which bodies have them, and the gradients.
#include "antichain/engines/scan/weighted_jacobian.h"

#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/engines/backprop/backprop_engine.h"
#include "antichain/engines/scan/scan_engine.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/engines/scan/random_values.h"

namespace antichain::weighted_jacobian_test {

using testing::HasSubstr;

constexpr std::int64_t kBatch = 2, kUnits = 3, kSteps = 9;

// Cells of two states of kUnits, inputs of 4 * kUnits, and weights [kUnits, 4 * kUnits].
using Cell = std::function<Vars(const Vars& states, Var x, Var weights)>;

Vars rnn(const Vars& s, Var x, Var w) {
  const Var four = matmul(s[0], w) + x;
  return {tanh(split(four, {kUnits, 3 * kUnits}, 1)[0]), s[1]};
}
Vars relu_rnn(const Vars& s, Var x, Var w) {
  return {relu(split(matmul(s[0], w) + x, {kUnits, 3 * kUnits}, -1)[0]), s[1] * 0.5};
}
Vars gru(const Vars& s, Var x, Var w) {
  const Vars of_x = split(x, Dims(4, kUnits), 1), of_h = split(matmul(s[0], w), Dims(4, kUnits), 1);
  const Var reset = sigmoid(of_x[0] + of_h[0]), keep = sigmoid(of_x[1] + of_h[1]);
  const Var fresh = tanh(of_x[2] + reset * of_h[2]);
  return {fresh + keep * (s[0] - fresh), s[1]};
}
Vars lstm(const Vars& s, Var x, Var w) {
  const Vars sum = split(matmul(s[0], w) + x, Dims(4, kUnits), 1);
  const Var cell = sigmoid(sum[1]) * s[1] + sigmoid(sum[0]) * tanh(sum[2]);
  return {sigmoid(sum[3]) * tanh(cell), cell};
}
// Both states are multiplied, by parts of one weight.
Vars crossed(const Vars& s, Var x, Var w) {
  const Vars a = split(matmul(s[0], w), Dims(4, kUnits), 1),
             b = split(matmul(s[1], w) + x, Dims(4, kUnits), 1);
  return {tanh(a[0] + b[1]) + stop_gradient(s[1]), sin(a[2] * b[3]) - 0.3 * s[0]};
}

struct Found {
  std::vector<Tensor> gradients;
  bool weighted = false;
};

Found gradients(const Cell& cell, bool reverse, std::unique_ptr<GradientEngine> engine) {
  Session session;
  auto engines = std::make_shared<EngineSet>();
  const std::string name(engine->name());
  engines->add(std::move(engine));
  Graph graph(engines);
  const Vars in = {graph.input("a", f32, {kBatch, kUnits}), graph.input("b", f32, {kBatch, kUnits}),
                   graph.input("xs", f32, {kSteps, kBatch, 4 * kUnits}),
                   graph.input("w", f32, {kUnits, 4 * kUnits})};
  const ChainResult found = chain({in[0], in[1]}, {in[2]},
                                  [&](Var, const Vars& s, const Vars& x) -> StepResult {
                                    const Vars next = cell(s, x[0], in[3]);
                                    return {next, {next[0] * 0.7}};
                                  },
                                  {.engine = name, .reverse = reverse});
  const Var loss = sum(found.last[0]) + sum(square(found.last[1])) + sum(square(found.ys[0]));
  const Vars grads = grad(loss, in, {.zero_if_unused = true});
  Found result;
  for (Op op : schedule(graph, grads)) {
    result.weighted = result.weighted || &op.def() == &weighted_scan_def();
  }
  result.gradients =
      session
          .compile(grads)({{"a", random_values({kBatch, kUnits}, 1).cast(f32)},
                           {"b", random_values({kBatch, kUnits}, 2).cast(f32)},
                           {"xs", random_values({kSteps, kBatch, 4 * kUnits}, 3).cast(f32)},
                           {"w", random_values({kUnits, 4 * kUnits}, 4).cast(f32)}})
          .tensors();
  return result;
}

TEST(WeightedJacobian, GivesTheGradients) {
  const std::pair<const char*, Cell> cells[] = {
      {"rnn", rnn}, {"relu", relu_rnn}, {"gru", gru}, {"lstm", lstm}, {"crossed", crossed}};
  for (const auto& [name, cell] : cells) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(std::string(name) + (reverse ? ", reverse" : ""));
      const Found want = gradients(cell, reverse, make_backprop_engine()),
                  got = gradients(cell, reverse, make_scan_engine({.weighted = true}));
      EXPECT_TRUE(got.weighted);
      EXPECT_FALSE(want.weighted);
      for (std::size_t i = 0; i < want.gradients.size(); ++i) {
        conformance::expect_close(got.gradients[i], want.gradients[i], 1e-5,
                                  "input " + std::to_string(i));
      }
    }
  }
}

// What the engine says of a chain with one state of so many units.
std::string why_not(const std::function<Var(Var s, Var x, Var w)>& cell,
                    std::int64_t units = kUnits, DType dtype = f32) {
  Graph graph;
  const Var h = graph.input("h", dtype, {kBatch, units}),
            xs = graph.input("xs", dtype, {kSteps, kBatch, units}),
            w = graph.input("w", dtype, {units, units});
  return scan::why_not_weighted(
      chain(h, xs, [&](Var s, Var x) { return cell(s, x, w); }).last.producer());
}

TEST(WeightedJacobian, SaysWhichBodiesHaveNone) {
  const auto plain = [](Var s, Var x, Var w) { return tanh(matmul(s, w) + x); };
  EXPECT_EQ(why_not(plain), "");
  EXPECT_EQ(why_not(plain, 128), "");
  EXPECT_THAT(why_not(plain, 129), HasSubstr("larger than there are kernels for"));
  EXPECT_THAT(why_not(plain, 4, f64), HasSubstr("not f32"));
  EXPECT_THAT(why_not([](Var s, Var x, Var) { return tanh(s + x); }), HasSubstr("diagonals"));
  EXPECT_THAT(why_not([](Var s, Var x, Var w) { return matmul(tanh(s), w) + x; }),
              HasSubstr("no product of a state and a weight"));
  EXPECT_THAT(why_not([](Var s, Var x, Var w) { return matmul(s, w) * sum(s, {1}, true) + x; }),
              HasSubstr("neither element-wise nor a product"));
}

TEST(WeightedJacobian, MatricesThatChangeAreNoWeights) {
  Graph graph;
  const Var h = graph.input("h", f32, {kBatch, kUnits}),
            ws = graph.input("ws", f32, {kSteps, kUnits, kUnits});
  const Var last = chain(h, ws, [](Var s, Var w) { return tanh(matmul(s, w)); }).last;
  EXPECT_THAT(scan::why_not_weighted(last.producer()),
              HasSubstr("no product of a state and a weight that stays the same"));
}

}  // namespace antichain::weighted_jacobian_test
