// Which axes steps keep apart: too many would give wrong gradients, too few make large matrices.
#include "antichain/engines/scan/kept_axes.h"

#include <gtest/gtest.h>

#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::scan::kept_axes_test {

// The axes that a step keeps of a state [batch, 4, 3]; `w` is a matrix [3, 3] that it captures.
int kept(const std::function<Var(Var state, Var w)>& step) {
  Graph graph;
  RegionScope scope(graph);
  const Var state = scope.param({f32, {graph.dim("batch"), 4, 3}}), w = scope.param({f32, {3, 3}});
  const Var result = step(state, w);
  const RegionId region = scope.finish({result});
  return kept_axes(graph, region, {state}, {result});
}

TEST(KeptAxes, OfOneStep) {
  EXPECT_EQ(kept([](Var s, Var) { return tanh(s) * s + 1; }), 3);
  EXPECT_EQ(kept([](Var s, Var w) { return tanh(matmul(s, w)); }), 2);
  EXPECT_EQ(kept([](Var s, Var w) { return s + sum(w); }), 3);
  EXPECT_EQ(kept([](Var s, Var) { return s - max(s, {-1}, true); }), 2);
  EXPECT_EQ(kept([](Var s, Var) { return s - mean(s, {1, 2}, true); }), 1);
  EXPECT_EQ(kept([](Var s, Var) { return s - sum(s); }), 0);
  EXPECT_EQ(kept([](Var s, Var) { return softmax(s, 1); }), 1);
  EXPECT_EQ(kept([](Var s, Var) { return flip(s, {2}); }), 2);
  EXPECT_EQ(kept([](Var s, Var) { return transpose(transpose(s, {0, 2, 1}), {0, 2, 1}); }), 1);
  EXPECT_EQ(kept([](Var s, Var) { return transpose(transpose(s, {1, 0, 2}), {1, 0, 2}); }), 0);
  EXPECT_EQ(kept([](Var s, Var) {
              const std::vector<Var> halves = split(s, {2, 2}, 1);
              return concat({halves[1], halves[0]}, 1);
            }),
            1);
  EXPECT_EQ(kept([](Var s, Var) { return reshape(sin(reshape(s, {-1, 12})), s.shape()); }), 1);
  EXPECT_EQ(kept([](Var s, Var) {
              return pad(slice(s, {{.axis = 2, .start = 1}}), {0, 0, 1}, {0, 0, 0});
            }),
            2);
  // An op that nothing is known of, and a path that carries no gradient.
  EXPECT_EQ(kept([](Var s, Var) { return sort(s, 2).values; }), 0);
  EXPECT_EQ(kept([](Var s, Var) { return s + stop_gradient(sum(s)); }), 3);
  // The state as the right factor: its rows mix.
  EXPECT_EQ(kept([](Var s, Var) { return matmul(ones(s.graph(), f32, {4, 4}), s); }), 1);
}

TEST(KeptAxes, OfSeveralStates) {
  Graph graph;
  RegionScope scope(graph);
  const Var h = scope.param({f32, {2, 5}}), c = scope.param({f32, {2, 5}}),
            m = scope.param({f32, {2, 1}});
  const Var next_h = h * c, next_c = c + h, next_m = m + sum(h, {1}, true);
  const RegionId region = scope.finish({next_h, next_c, next_m});
  EXPECT_EQ(kept_axes(graph, region, {h, c}, {next_h, next_c}), 2);
  EXPECT_EQ(kept_axes(graph, region, {h, c, m}, {next_h, next_c, next_m}), 1);
}

}  // namespace antichain::scan::kept_axes_test
