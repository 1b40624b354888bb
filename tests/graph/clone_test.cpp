// Copies of regions: sizes that a run finds out get symbols of their own in each copy.
#include "antichain/graph/clone.h"

#include <gtest/gtest.h>

#include "antichain/graph/verify.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::clone_test {

class CloneTest : public testing::Test {
 protected:
  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", DType::f32, {"n"}), y = graph.input("y", DType::f32, {"n"});
  Feeds feeds = {{"x", Tensor::of<float>({5}, {1, 0, 2, 0, 0})},
                 {"y", Tensor::of<float>({5}, {3, 4, 0, 5, 0})}};
};

// Returns the region of a function that picks the elements that are not 0.
RegionId picking_region(Graph& graph, Var like) {
  RegionScope scope(graph);
  const Var param = scope.param({like.dtype(), like.shape()});
  const Var where = nonzero(param);
  const Var picked = gather(param, reshape(where, {where.dim(0)}));
  return scope.finish({picked, zeros(graph, DType::f32, {where.dim(0) * 2})});
}

TEST_F(CloneTest, InliningTwiceGivesSeparateSymbols) {
  const RegionId region = picking_region(graph, x);
  const Vars of_x = inline_region(graph, region, Vars{x});
  const Vars of_y = inline_region(graph, region, Vars{y});
  EXPECT_FALSE(of_x[0].dim(0) == of_y[0].dim(0));
  EXPECT_EQ(of_x[1].dim(0), of_x[0].dim(0) * 2) << "later ops use the new symbols";
  verify(graph);
  const Results found = session.compile({of_x[0], of_y[0], of_x[1], of_y[1]})(feeds);
  EXPECT_EQ(found[0].to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(found[1].to_vector<float>(), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(found[2].shape(), Shape{4});
  EXPECT_EQ(found[3].shape(), Shape{6});
}

TEST_F(CloneTest, InliningWithTheSameArgumentsSharesPureOps) {
  const RegionId region = picking_region(graph, x);
  const Vars once = inline_region(graph, region, Vars{x});
  EXPECT_EQ(inline_region(graph, region, Vars{x}), once);
}

TEST_F(CloneTest, NestedRegionsUseTheNewSymbolsOfTheOuterOne) {
  RegionScope scope(graph);
  const Var param = scope.param({x.dtype(), x.shape()});
  const Var where = nonzero(param);
  const Var inner =
      call(graph, [&] { return Vars{ones(graph, DType::f32, {where.dim(0)}) * 3}; })[0];
  const RegionId region = scope.finish({sum(inner)});
  const Var of_x = inline_region(graph, region, Vars{x})[0],
            of_y = inline_region(graph, region, Vars{y})[0];
  verify(graph);
  const Results found = session.compile({of_x, of_y})(feeds);
  EXPECT_EQ(found[0].item<float>(), 6);
  EXPECT_EQ(found[1].item<float>(), 9);
}

TEST_F(CloneTest, RegionsWithoutFoundSizesAreShared) {
  const Var first = call(graph, [&] { return Vars{exp(x)}; })[0];
  Cloner cloner(graph, graph);
  cloner.map(x, y);
  const Op copy = cloner.copy(first.producer())[0].producer();
  EXPECT_EQ(copy.regions()[0], first.producer().regions()[0]);
  EXPECT_EQ(copy.input(0), y);
}

TEST_F(CloneTest, OtherGraphsGetNamesPlacesAndControlEdges) {
  const Var a = sin(x), b = cos(x);
  graph.set_name(a, "a");
  graph.add_control_edge(a.producer(), b.producer());
  Graph target(graph.dim_pool(), graph.engines());
  Cloner cloner(graph, target);
  for (Op op : {x.producer(), a.producer(), b.producer()}) {
    cloner.copy(op);
  }
  EXPECT_EQ(cloner(a).name(), "a");
  EXPECT_EQ(cloner(x).dim(0), x.dim(0)) << "dims are shared";
  EXPECT_EQ(cloner(a).producer().location().line(), a.producer().location().line());
  ASSERT_EQ(cloner(b).producer().control_edges().size(), 1U);
  EXPECT_EQ(cloner(b).producer().control_edges()[0].before, cloner(a).producer().id());
}

TEST_F(CloneTest, MistakesInOurOwnCode) {
  const RegionId region = picking_region(graph, x);
  expect_error<InternalError>("a region with 1 parameters gets 2 arguments", [&] {
    inline_region(graph, region, Vars{x, y});
  });
  const Cloner cloner(graph, graph);
  expect_error<InternalError>("value x was not copied", [&] { cloner(x); });
}

}  // namespace antichain::clone_test
