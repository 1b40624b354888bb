#include "recipes/cost.h"

#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/session/session.h"

namespace antichain::cost_test {

double flops(Session& session, const std::vector<Var>& outputs, const Feeds& feeds) {
  FlopCounter counter;
  session.compile(outputs).run(feeds, {&counter});
  return counter.flops();
}

TEST(FlopCounter, CountsMatrixProducts) {
  Session session;
  Graph graph = session.graph();
  const Var a = graph.input("a", f32, {3, 5}), b = graph.input("b", f32, {5, 7});
  const Feeds feeds = {{"a", Tensor::zeros(f32, {3, 5})}, {"b", Tensor::zeros(f32, {5, 7})}};
  EXPECT_EQ(flops(session, {matmul(a, b)}, feeds), 2 * 3 * 5 * 7);
  // Each gradient is a product of the same size, one of them with a transposed.
  const std::vector<Var> both = grad(sum(square(matmul(a, b))), {a, b});
  EXPECT_EQ(flops(session, both, feeds), 3 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops(session, {relu(matmul(a, b) + 1)}, feeds), 2 * 3 * 5 * 7);
}

TEST(FlopCounter, CountsConvolutionsAndTheirGradients) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {2, 4, 6, 6}), w = graph.input("w", f32, {8, 4, 3, 3});
  const Feeds feeds = {{"x", Tensor::zeros(f32, {2, 4, 6, 6})},
                       {"w", Tensor::zeros(f32, {8, 4, 3, 3})}};
  const double one = 2.0 * (2 * 8 * 4 * 4) * (4 * 3 * 3);
  const Var y = conv(x, w);
  EXPECT_EQ(flops(session, {y}, feeds), one);
  EXPECT_EQ(flops(session, grad(sum(square(y)), {x, w}), feeds), 3 * one);
}

}  // namespace antichain::cost_test
