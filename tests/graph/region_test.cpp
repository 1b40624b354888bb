// Regions: captures, leaks, sharing.
#include <gtest/gtest.h>

#include "antichain/graph/verify.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::region_test {

class RegionTest : public testing::Test {
 protected:
  float run(Var var) {
    return session.compile({var})({{"x", Tensor::scalar(3.0F)}, {"w", Tensor::scalar(5.0F)}})
        .item();
  }

  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", DType::f32, {}), w = graph.input("w", DType::f32, {});
};

TEST_F(RegionTest, CapturesAreParametersAndInputs) {
  Var inner;
  const Var y = call(graph, [&] {
    inner = x * w + x;
    return Vars{inner};
  })[0];
  const Op op = y.producer();
  EXPECT_EQ(op.inputs(), (Vars{x, w}));
  const RegionInfo& region = graph.region(op.regions()[0]);
  EXPECT_EQ(region.params.size(), 2U);
  EXPECT_EQ(graph.var(region.params[0]).name(), "x") << "captures keep their names";
  EXPECT_EQ(graph.region_of(inner), op.regions()[0]);
  EXPECT_EQ(graph.origin(graph.var(region.params[1])), w);
  EXPECT_EQ(graph.origin(inner), inner);
  EXPECT_EQ(run(y), 18);
}

TEST_F(RegionTest, CapturesGoThroughTwoLevels) {
  const Var y = call(graph, [&] {
    const Var middle = x + 1;
    return call(graph, [&] {
      const Var seen = graph.capture(w);
      EXPECT_TRUE(graph.is_region_param(seen));
      EXPECT_EQ(graph.origin(seen), w);
      EXPECT_EQ(graph.capture(w), seen) << "captured once";
      return Vars{middle * w + w};
    });
  })[0];
  const Op outer = y.producer();
  EXPECT_EQ(outer.inputs(), (Vars{x, w}));
  const Op inner = graph.var(graph.region(outer.regions()[0]).results[0]).producer();
  EXPECT_EQ(inner.num_inputs(), 2);
  EXPECT_EQ(graph.region_of(inner.input(0)), outer.regions()[0]);
  verify(graph);
  EXPECT_EQ(run(y), 25);
}

TEST_F(RegionTest, AValueOfAFinishedRegionCannotLeak) {
  Var leaked;
  chain({x}, {},
        [&](Var, const Vars& s, const Vars&) -> StepResult {
          leaked = s[0] * 2;
          graph.set_name(leaked, "leaked");
          return {{leaked}};
        },
        {.length = 3});
  const char* message =
      "value leaked belongs to a region that is finished; return it from the region to use it "
      "outside";
  expect_error<InvalidArgument>(message, [&] { leaked + 1; });
  expect_error<InvalidArgument>(message, [&] { call(graph, [&] { return Vars{leaked}; }); });
  expect_error<InvalidArgument>(
      "compile: leaked is inside a chain, loop or cond; return it from "
      "there",
      [&] { session.compile({leaked}); });
}

TEST_F(RegionTest, AValueOfOneBranchCannotBeUsedInTheOther) {
  Var leaked;
  expect_error<InvalidArgument>(
      "value leaked belongs to a region that is finished; return it from the region to use it "
      "outside",
      [&] {
        cond(
            less(x, w),
            [&] {
              leaked = x * 2;
              graph.set_name(leaked, "leaked");
              return Vars{leaked};
            },
            [&] { return Vars{leaked}; });
      });
  EXPECT_EQ(graph.current_region(), kRootRegion);
}

TEST_F(RegionTest, RegionsReturnValuesOfTheirGraph) {
  Graph other;
  const Var stranger = other.input("s", DType::f32, {});
  const char* message = "a region returns something that is no value";
  expect_error<InvalidArgument>(message, [&] { call(graph, [&] { return Vars{stranger}; }); });
  expect_error<InvalidArgument>(message, [&] { call(graph, [&] { return Vars{Var()}; }); });
}

TEST_F(RegionTest, ParametersHaveNoProducer) {
  call(graph, [&] {
    const Var seen = graph.capture(x);
    expect_error<InvalidArgument>("value x is a parameter of a region; no op computes it",
                                  [&] { seen.producer(); });
    return Vars{seen};
  });
}

TEST_F(RegionTest, AnExceptionClosesTheRegion) {
  EXPECT_THROW(chain(x, zeros(graph, DType::f32, {3}),
                     [](Var, Var) -> Var { throw std::runtime_error("the user's"); }),
               std::runtime_error);
  EXPECT_EQ(graph.current_region(), kRootRegion);
  EXPECT_TRUE(graph.open_steps().empty());
  EXPECT_EQ(run(x + w), 8);
}

TEST_F(RegionTest, InputsAndStatesMadeInsideBelongToTheRoot) {
  const Var y = call(graph, [&] {
    const Var late = graph.input("late", DType::f32, {});
    return Vars{late * x};
  })[0];
  EXPECT_EQ(
      session.compile({y})({{"x", Tensor::scalar(3.0F)}, {"late", Tensor::scalar(4.0F)}}).item(),
      12);
}

TEST_F(RegionTest, StepsOfOpenChains) {
  std::vector<std::size_t> open = {graph.open_steps().size()};
  const auto note = [&] { open.push_back(graph.open_steps().size()); };
  chain(x, zeros(graph, DType::f32, {2, 2}), [&](Var s, Var row) {
    note();
    call(graph, [&] {
      note();
      return Vars{};
    });
    return chain(s, row,
                 [&](Var t, Var v) {
                   note();
                   return t + v;
                 })
        .last;
  });
  note();
  EXPECT_EQ(open, (std::vector<std::size_t>{0, 1, 1, 2, 0}));
}

TEST_F(RegionTest, RegionsCanBeSharedBetweenOps) {
  const Var first = call(graph, [&] { return Vars{x * w}; })[0];
  const Op op = first.producer();
  const Var second = graph.add(call_def(), {w + 1, x}, {}, {op.regions()[0]}).output();
  verify(graph);
  EXPECT_EQ(run(second - first), 18 - 15);
}

}  // namespace antichain::region_test
