// The order of effects: states and printing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"

namespace antichain::effects_test {

using testing::ElementsAre;
using testing::EndsWith;

class EffectsTest : public testing::Test {
 protected:
  static bool waits_for(Var after, Var before, bool required) {
    for (const ControlEdge& edge : after.producer().control_edges()) {
      if (edge.before == before.producer().id() && edge.required == required) {
        return true;
      }
    }
    return false;
  }

  Session session;
  Graph graph = session.graph();
  Var start = scalar(graph, DType::f32, 10);
  Var first = buffer("s", start);
};

TEST_F(EffectsTest, ReadsSeeTheWritesBuiltBefore) {
  const Var added = add_update(graph, "s", scalar(graph, DType::f32, 1));
  const Var second = read_state(graph, "s");
  const Var assigned = assign(graph, "s", second * 2);
  const Var third = read_state(graph, "s");
  EXPECT_TRUE(waits_for(added, first, false)) << "a write waits for earlier reads";
  EXPECT_TRUE(waits_for(second, added, true)) << "a read makes the earlier write run";
  EXPECT_TRUE(waits_for(assigned, second, false));
  EXPECT_TRUE(waits_for(assigned, added, true)) << "writes keep their order";
  EXPECT_TRUE(waits_for(third, assigned, true));
  EXPECT_TRUE(first.producer().control_edges().empty());
  const Results found = session.compile({third, first, second})({});
  EXPECT_EQ(found[0].item<float>(), 22);
  EXPECT_EQ(found[1].item<float>(), 10);
  EXPECT_EQ(found[2].item<float>(), 11);
  EXPECT_EQ(session.states().get("s").item<float>(), 22);
}

TEST_F(EffectsTest, ReadsBetweenWritesAreShared) {
  EXPECT_EQ(read_state(graph, "s"), first);
  assign(graph, "s", start);
  const Var later = read_state(graph, "s");
  EXPECT_FALSE(later == first);
  EXPECT_EQ(read_state(graph, "s"), later);
  EXPECT_EQ(graph.current_read("s"), later);
}

TEST_F(EffectsTest, WritesThatNobodyAsksForDoNotRun) {
  assign(graph, "s", start * 5);
  session.compile({first})({});
  EXPECT_EQ(session.states().get("s").item<float>(), 10);
}

TEST_F(EffectsTest, StatesDoNotWaitForEachOther) {
  buffer("t", start);
  const Var a = assign(graph, "s", start * 2), b = assign(graph, "t", start * 3);
  EXPECT_FALSE(waits_for(b, a, true) || waits_for(b, a, false));
}

TEST_F(EffectsTest, AReadInsideABodyIsAReadOutside) {
  assign(graph, "s", start * 2);
  const Var y = call(graph, [&] { return Vars{read_state(graph, "s") + 1}; })[0];
  assign(graph, "s", start * 7);
  EXPECT_EQ(session.compile({y})({}).item(), 21);
}

TEST_F(EffectsTest, PrintsKeepTheirOrder) {
  const Var a = print(start, "a");
  const Var inside = call(graph, [&] {
    const Var p = print(start, "inside 1");
    return Vars{p + print(start * 2, "inside 2")};
  })[0];
  const Var b = print(start * 3, "b"), c = print(start, "c");
  EXPECT_TRUE(waits_for(b, a, false)) << "also with a region between them";
  EXPECT_TRUE(waits_for(c, b, false));
  std::vector<std::string> lines;
  Executable run = session.compile({c, b, inside, a});
  run.set_print_line([&](std::string_view line) { lines.emplace_back(line); });
  run({});
  EXPECT_THAT(lines, ElementsAre(EndsWith(": a: f32[] {10}"), EndsWith(": inside 1: f32[] {10}"),
                                 EndsWith(": inside 2: f32[] {20}"), EndsWith(": b: f32[] {30}"),
                                 EndsWith(": c: f32[] {10}")));
}

TEST_F(EffectsTest, PrintingTheSecondDoesNotAskForTheFirst) {
  print(start, "a");
  const Var b = print(start, "b");
  EXPECT_EQ(schedule(graph, Vars{b}).size(), 2U);
}

}  // namespace antichain::effects_test
