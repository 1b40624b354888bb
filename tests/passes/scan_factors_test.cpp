// What a scan has multiplied weights by is read from it; whatever differs is computed.
#include "antichain/passes/chains/scan_factors.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/scans/weighted_scan.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "tests/passes/pass_test.h"

namespace antichain::scan_factors_test {

// A scan as it walks back through a layer with tanh, and the states that tanh returned.
struct Walk {
  explicit Walk(bool twice = false) {
    y = graph.input("y", f32, {"time", 3, 4});
    other = graph.input("other", f32, {y.dim(0), 3, 4});
    const Var one = scalar(graph, f32, 1), weights = graph.input("w", f32, {1, 4, 4}),
              initial = graph.input("g", f32, {3, 4});
    WeightedForm form{1, {0}, {}, {{0, 0}}};
    std::vector<Var> coefficients = {tanh_gradient(broadcast_to(one, y.shape()), y)};
    if (twice) {
      form.products.push_back({0, 0});
      coefficients.push_back(other);
    }
    states =
        weighted_scan(form, {.weights = weights, .initial = initial, .coefficients = coefficients})
            .before;
  }

  GraphCopy passed(Var value) { return apply_pass(scan_factors, graph, {value}); }

  Graph graph;
  Var y, other, states;
};

TEST(ScanFactors, AreReadFromTheScan) {
  Walk walk;
  const GraphCopy copy = walk.passed(tanh_gradient(walk.states, walk.y));
  const Op scan = copy.values[0].producer();
  EXPECT_EQ(scan.def().name, "weighted_scan");
  EXPECT_TRUE(scan.attrs().get<bool>("factors"));
  EXPECT_EQ(copy.values[0], scan.output(2));
  // Who reads the states themselves finds them where they were.
  const GraphCopy both = walk.passed(tanh_gradient(walk.states, walk.y) + walk.states);
  EXPECT_EQ(count_needed(both, "weighted_scan"), 1U);
  EXPECT_EQ(count_needed(both, "tanh_gradient"), 1U);  // the coefficient
}

TEST(ScanFactors, WhatDiffersIsComputed) {
  Walk walk;
  for (const Var value : {tanh_gradient(walk.states, walk.other),
                          sigmoid_gradient(walk.states, walk.y), tanh_gradient(walk.y, walk.y)}) {
    const GraphCopy copy = walk.passed(value + walk.states);
    EXPECT_EQ(count_needed(copy, "tanh_gradient") + count_needed(copy, "sigmoid_gradient"), 2U);
  }
  Walk sum(/*twice=*/true);  // the weight is multiplied by more than that
  const GraphCopy copy = sum.passed(tanh_gradient(sum.states, sum.y));
  EXPECT_EQ(count_needed(copy, "tanh_gradient"), 2U);
}

}  // namespace antichain::scan_factors_test
