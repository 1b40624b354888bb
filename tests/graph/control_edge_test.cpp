#include <fmt/format.h>
#include <gtest/gtest.h>

#include "antichain/graph/traversal.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::control_edge_test {

class ControlEdges : public testing::Test {
 protected:
  std::vector<std::string> order(const Vars& values) {
    std::vector<std::string> names;
    for (Op op : schedule(graph, values)) {
      names.push_back(op.output().name());
    }
    return names;
  }
  Var named(Var var, const char* name) {
    graph.set_name(var, name);
    return var;
  }

  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", DType::f32, {});
  Var a = named(sin(x), "a"), b = named(cos(x), "b"), c = named(tanh(x), "c");
};

using Names = std::vector<std::string>;

TEST_F(ControlEdges, MakeTheOtherOpRunBefore) {
  EXPECT_EQ(order({c}), (Names{"x", "c"}));
  graph.add_control_edge(a.producer(), c.producer());
  EXPECT_EQ(order({c}), (Names{"x", "a", "c"}));
}

TEST_F(ControlEdges, MayPointAgainstBuildOrder) {
  graph.add_control_edge(c.producer(), a.producer());
  EXPECT_EQ(order({a, b}), (Names{"x", "b", "c", "a"}));
  verify(graph);
}

TEST_F(ControlEdges, CyclesNameTheOps) {
  graph.add_control_edge(c.producer(), a.producer());
  graph.add_control_edge(a.producer(), c.producer());
  const std::string message = fmt::format("a cycle: these ops wait for each other: {}, {}",
                                          a.producer().describe(), c.producer().describe());
  expect_error<InvalidArgument>(message, [&] { order({c}); });
  expect_error<InvalidArgument>(message, [&] { verify(graph); });
  expect_error<InvalidArgument>(message, [&] { session.compile({c}); });
  EXPECT_EQ(order({b}), (Names{"x", "b"})) << "the others still run";
}

TEST_F(ControlEdges, CyclesThroughData) {
  const Var d = named(a + 1, "d");
  graph.add_control_edge(d.producer(), a.producer());
  expect_error<InvalidArgument>(fmt::format("a cycle: these ops wait for each other: {}, {}",
                                            a.producer().describe(), d.producer().describe()),
                                [&] { order({d}); });
}

TEST_F(ControlEdges, AnOpCannotRunBeforeItself) {
  expect_error<InvalidArgument>(
      fmt::format("a cycle: {} cannot run before itself", a.producer().describe()),
      [&] { graph.add_control_edge(a.producer(), a.producer()); });
}

TEST_F(ControlEdges, StayWithinARegion) {
  call(graph, [&] {
    const Var inner = exp(x);
    expect_error<InvalidArgument>(fmt::format("a control edge must stay within a region: {} and {}",
                                              a.producer().describe(), inner.producer().describe()),
                                  [&] { graph.add_control_edge(a.producer(), inner.producer()); });
    return Vars{inner};
  });
}

TEST_F(ControlEdges, ReachTheExecutableThroughRewrites) {
  // x * 1 is rewritten to x; what it waits for must run all the same.
  const Var y = x * 1, noted = print(x, "noted");
  graph.add_control_edge(noted.producer(), y.producer());
  std::vector<std::string> lines;
  for (const int level : {0, 1, 2, 3}) {
    Executable run = session.compile({y}, {.compiler = {.level = level}});
    run.set_print_line([&](std::string_view line) { lines.emplace_back(line); });
    EXPECT_EQ(run({{"x", Tensor::scalar(2.0F)}}).item(), 2);
  }
  EXPECT_EQ(lines.size(), 4U);
}

TEST_F(ControlEdges, OpsThatBecomeEqualByRewritesMakeNoCycle) {
  // y and z are one op once x * 1 is x; z waits for the print of y.
  const Var y = x + 1, noted = print(y, "noted"), z = x * 1 + 1;
  graph.add_control_edge(noted.producer(), z.producer());
  Executable run = session.compile({z});
  int lines = 0;
  run.set_print_line([&](std::string_view) { ++lines; });
  EXPECT_EQ(run({{"x", Tensor::scalar(2.0F)}}).item(), 3);
  EXPECT_EQ(lines, 1);
}

TEST_F(ControlEdges, ReachOpsThatNobodyReadsAnyMore) {
  // The sum is computed before its operand is repeated, by another op than z waits for.
  const Var wide = broadcast_to(x, {8}), y = wide + 1, z = x * 2 + sum(y);
  const Var later = z * 3;
  graph.add_control_edge(y.producer(), later.producer());
  EXPECT_EQ(session.compile({later})({{"x", Tensor::scalar(2.0F)}}).item(), 84);
}

TEST_F(ControlEdges, OrderWritesAfterWhatTheUserWants) {
  const Var state = buffer("s", scalar(graph, DType::f32, 1));
  const Var written = assign(graph, "s", x);
  graph.add_control_edge(written.producer(), c.producer());
  session.compile({c, state})({{"x", Tensor::scalar(4.0F)}});
  EXPECT_EQ(session.states().get("s").item<float>(), 4);
}

}  // namespace antichain::control_edge_test
