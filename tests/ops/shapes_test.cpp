// Shapes that take part in computation, and one graph for all batch sizes.
#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"

namespace antichain::shapes_test {

using Floats = std::vector<float>;
using Ints64 = std::vector<std::int64_t>;

Tensor counting(Shape shape) {
  Tensor result = Tensor::empty(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = static_cast<float>(i);
  }
  return result;
}

class ShapesTest : public testing::Test {
 protected:
  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", DType::f32, {"n", "c"});
  Dim n = graph.dim("n"), c = graph.dim("c");
};

TEST_F(ShapesTest, ArithmeticOnShapesStaysSymbolic) {
  const Var shape = x.shape_of();
  const Var doubled = shape * 2 + 1;
  ASSERT_TRUE(doubled.type().value.has_value());
  EXPECT_EQ(*doubled.type().value, (Dims{n * 2 + 1, c * 2 + 1}));
  const Var rows = index(shape, 0, 0), columns = index(shape, 0, 1);
  EXPECT_EQ(*(rows * columns).type().value, Dims{n * c});
  const Var target = stack({rows * columns}, 0);
  EXPECT_EQ(to_string(reshape(x, target).shape()), "[n*c]");
  EXPECT_EQ(to_string(reshape(x, concat({slice(shape, {{.axis = 0, .start = 1}}),
                                         slice(shape, {{.axis = 0, .stop = 1}})},
                                        0))
                          .shape()),
            "[c, n]");
  const Executable run = session.compile({reshape(x, target), doubled});
  EXPECT_EQ(run({{"x", counting({3, 4})}})[0].shape(), Shape{12});
  EXPECT_EQ(run({{"x", counting({3, 4})}})[1].to_vector<std::int64_t>(), (Ints64{7, 9}));
}

TEST_F(ShapesTest, MaxoutForEveryBatchSize) {
  const std::int64_t k = 2;
  const Var y = x.reshape({n, c / k, k}).max(2);
  const Var slope = grad(y, x);
  EXPECT_EQ(to_string(y.shape()), "[n, floor((c)/(2))]");
  const std::size_t ops = graph.num_ops();
  const Executable run = session.compile({y, slope});
  for (const auto& [rows, columns] : {std::pair{1, 2}, {3, 4}, {7, 6}, {0, 2}, {5, 2}}) {
    const Results found = run({{"x", counting({rows, columns})}});
    ASSERT_EQ(found[0].shape(), (Shape{rows, columns / 2}));
    const Floats values = found[0].to_vector<float>(), grads = found[1].to_vector<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], static_cast<float>(2 * i + 1));
      EXPECT_EQ(grads[2 * i], 0);
      EXPECT_EQ(grads[2 * i + 1], 1);
    }
  }
  EXPECT_THROW(run({{"x", counting({2, 3})}}), ShapeError) << "3 channels are no pairs";
  EXPECT_EQ(graph.num_ops(), ops) << "another batch size never changes the graph";
}

TEST_F(ShapesTest, MaxoutWithSymbolicGroups) {
  const Dim k = graph.dim("k", {1, 64});
  const Var groups = graph.input("groups", DType::f32, {k});
  const Var y = x.reshape({n, c / k, k}).max(2) + sum(groups);
  const Executable run = session.compile({y});
  const Results found = run({{"x", counting({2, 6})}, {"groups", Tensor::zeros(DType::f32, {3})}});
  EXPECT_EQ(found[0].to_vector<float>(), (Floats{2, 5, 8, 11}));
}

TEST_F(ShapesTest, ReshapeAndBroadcastByAShapeThatOnlyTheRunKnows) {
  const Var shape = graph.input("shape", DType::i64, {2}), s = graph.input("s", DType::f32, {});
  const Var y = reshape(x, shape) * 2, wide = broadcast_to(s, shape);
  const Var total = sum(y * wide);
  const Executable run = session.compile({y, wide, grad(total, x), grad(total, s)});
  for (const auto& [rows, columns] : {std::pair{2, 6}, {12, 1}, {4, 3}}) {
    const Results found = run({{"x", counting({3, 4})},
                               {"s", Tensor::scalar(0.5F)},
                               {"shape", Tensor::of<std::int64_t>({2}, {rows, columns})}});
    EXPECT_EQ(found[0].shape(), (Shape{rows, columns}));
    EXPECT_EQ(found[1].shape(), (Shape{rows, columns}));
    EXPECT_EQ(found[2].to_vector<float>(), Floats(12, 1));
    EXPECT_EQ(found[3].item<float>(), 132);
  }
  EXPECT_THROW(run({{"x", counting({3, 4})},
                    {"s", Tensor::scalar(0.5F)},
                    {"shape", Tensor::of<std::int64_t>({2}, {5, 5})}}),
               ShapeError);
}

TEST_F(ShapesTest, NonzeroThenGather) {
  const Var v = graph.input("v", DType::f32, {"m"});
  const Var where = nonzero(greater(v, 0));
  const Var picked = gather(v, reshape(where, {where.dim(0)}));
  const Var total = sum(picked * picked);
  const Executable run = session.compile({picked, grad(total, v), dim_value(graph, where.dim(0))});
  const Results found = run({{"v", Tensor::of<float>({5}, {-1, 2, 0, 3, -4})}});
  EXPECT_EQ(found[0].to_vector<float>(), (Floats{2, 3}));
  EXPECT_EQ(found[1].to_vector<float>(), (Floats{0, 4, 0, 6, 0}));
  EXPECT_EQ(found[2].item<std::int64_t>(), 2);
  EXPECT_EQ(run({{"v", Tensor::of<float>({2}, {-1, -2})}})[0].numel(), 0);
  EXPECT_EQ(run({{"v", Tensor::zeros(DType::f32, {0})}})[0].numel(), 0);
}

TEST_F(ShapesTest, NonzeroInsideACallAndAChain) {
  const Var v = graph.input("v", DType::f32, {"m"}),
            rows = graph.input("rows", DType::f32, {3, "m"});
  const auto positive_sum = [](Var u) {
    const Var where = nonzero(greater(u, 0));
    return sum(gather(u, reshape(where, {where.dim(0)})));
  };
  const Var once = call(graph, [&] { return Vars{positive_sum(v)}; })[0];
  const Var each = chain({}, {rows}, [&](Var, const Vars&, const Vars& r) -> StepResult {
                     return {{}, {positive_sum(r[0])}};
                   }).ys[0];
  const Results found = session.compile({once, each, grad(each, rows)})(
      {{"v", Tensor::of<float>({2}, {-1, 2})},
       {"rows", Tensor::of<float>({3, 2}, {1, 2, -1, 5, -1, -1})}});
  EXPECT_EQ(found[0].item<float>(), 2);
  EXPECT_EQ(found[1].to_vector<float>(), (Floats{3, 5, 0}));
  EXPECT_EQ(found[2].to_vector<float>(), (Floats{1, 1, 0, 1, 0, 0}));
}

TEST_F(ShapesTest, ACallMayReturnASizeThatItFindsOut) {
  const Var v = graph.input("v", DType::f32, {"m"});
  const Var where = call(graph, [&] { return Vars{nonzero(v)}; })[0];
  EXPECT_EQ(session.compile({where})({{"v", Tensor::of<float>({3}, {0, 7, 8})}})[0].shape(),
            (Shape{2, 1}));
}

TEST_F(ShapesTest, SlicesBySymbolicBounds) {
  const Var half = slice(x, {{.axis = 0, .stop = n / 2}}),
            tail = slice(x, {{.axis = 0, .start = -2}});
  const Var last = index(x, 0, n - 1);
  const Executable run = session.compile({half, tail, last});
  const Results found = run({{"x", counting({5, 1})}});
  EXPECT_EQ(found[0].to_vector<float>(), (Floats{0, 1}));
  EXPECT_EQ(found[1].to_vector<float>(), (Floats{3, 4}));
  EXPECT_EQ(found[2].to_vector<float>(), (Floats{4}));
  const Results one = run({{"x", counting({1, 1})}});
  EXPECT_EQ(one[0].numel(), 0);
  EXPECT_EQ(one[1].to_vector<float>(), (Floats{0})) << "ranges are clamped";
  EXPECT_THROW(run({{"x", counting({0, 1})}}), ShapeError) << "there is no last row";
}

TEST_F(ShapesTest, SlicesThatReachTooFar) {
  const Var v = graph.input("v", DType::f32, {3});
  const Results found = session.compile(
      {slice(v, {{.axis = 0, .start = 1, .stop = 99}}), slice(v, {{.axis = 0, .start = -99}}),
       slice(v, {{.axis = 0, .start = 2, .stop = 1}}),
       slice(v, {{.axis = 0, .start = 99}})})({{"v", counting({3})}});
  EXPECT_EQ(found[0].to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(found[1].to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(found[2].numel(), 0);
  EXPECT_EQ(found[3].numel(), 0);
}

}  // namespace antichain::shapes_test
