#include "antichain/runtime/expected_sizes.h"

#include <gtest/gtest.h>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/session/session.h"

namespace antichain::expected_sizes_test {

TEST(ExpectSizes, AreThoseOfAnExample) {
  Session session;
  Graph graph = session.graph();
  const Dim ranged = graph.dim("length", {1, 50});
  const Var x = graph.input("x", f32, {"batch", ranged, 3});
  const Var y = graph.input("y", i64, {"batch", "other"});
  expect_sizes(graph, {{"x", Tensor::zeros(f32, {8, 20, 3})},
                       {"y", Tensor::zeros(i64, {8})},  // no rank of y's: says nothing
                       {"unknown", Tensor::zeros(f32, {2})}});
  EXPECT_EQ(x.dim(0).expected(), 8);
  EXPECT_EQ(ranged.expected(), 20);
  EXPECT_EQ(ranged.range().max, 50);
  EXPECT_EQ(y.dim(1).expected(), std::nullopt);
  // Other sizes run as they did.
  EXPECT_EQ(session.compile({x + 1})({{"x", Tensor::zeros(f32, {5, 4, 3})}})[0].shape(),
            (Shape{5, 4, 3}));
}

}  // namespace antichain::expected_sizes_test
