#include "antichain/graph/traversal.h"

#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"

namespace antichain::traversal_test {

TEST(Schedule, TakesWhatIsNeededInBuildOrder) {
  Graph graph;
  const Var x = graph.input("x", DType::f32, {});
  const Var a = sin(x), unused = cos(x), b = exp(x), c = b + a;
  const std::vector<Op> ops = schedule(graph, Vars{c});
  ASSERT_EQ(ops.size(), 4U);
  EXPECT_EQ(ops[0], x.producer());
  EXPECT_EQ(ops[1], a.producer());
  EXPECT_EQ(ops[2], b.producer());
  EXPECT_EQ(ops[3], c.producer());
  const std::vector<Op> asked = {unused.producer()};
  EXPECT_EQ(schedule(graph, Vars{a}, asked).size(), 3U);
  EXPECT_TRUE(schedule(graph, Vars{}).empty());
}

TEST(Schedule, OfARegion) {
  Graph graph;
  const Var x = graph.input("x", DType::f32, {});
  Var needed;
  const Var y = call(graph, [&] {
    needed = sin(x);
    cos(x);
    return Vars{needed, x};
  })[0];
  const std::vector<Op> ops = schedule_region(graph, y.producer().regions()[0]);
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0], needed.producer());
}

TEST(Schedule, BringsTheOpThatFindsASizeOut) {
  Graph graph;
  const Var x = graph.input("x", DType::f32, {"n"});
  const Var found = nonzero(x), fill = zeros(graph, DType::f32, {found.dim(0)});
  const std::vector<Op> ops = schedule(graph, Vars{fill});
  EXPECT_NE(std::find(ops.begin(), ops.end(), found.producer()), ops.end());
}

TEST(Schedule, AHundredThousandOps) {
  Graph graph;
  const Var x = graph.input("x", DType::f32, {});
  Var y = x;
  constexpr std::size_t kOps = 100'000;
  for (std::size_t i = 1; i < kOps; ++i) {
    y = i % 2 ? sin(y) : cos(y);
  }
  EXPECT_EQ(graph.num_ops(), kOps);
  EXPECT_EQ(schedule(graph, Vars{y}).size(), kOps);
  // A backward edge makes the general sort do it.
  graph.add_control_edge(y.producer(), exp(x).producer());
  graph.add_control_edge(exp(x).producer(), tanh(x).producer());
  EXPECT_EQ(schedule(graph, Vars{tanh(x)}).back(), tanh(x).producer());
}

}  // namespace antichain::traversal_test
