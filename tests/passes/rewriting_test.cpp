// The passes that replace ops one by one: what they change, and what they must leave alone.
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/passes/simplify/clean_casts.h"
#include "antichain/passes/simplify/delay_broadcasts.h"
#include "antichain/passes/simplify/fold_constants.h"
#include "antichain/passes/simplify/reassociate.h"
#include "tests/passes/pass_test.h"

namespace antichain::rewriting_test {

double number_of(Var value) { return value.producer().attrs().get<Tensor>("value").item<double>(); }

TEST(FoldConstants, ComputesWhatDependsOnConstantsAlone) {
  Graph graph;
  const Var a = scalar(graph, f64, 3), b = scalar(graph, f64, 4);
  const GraphCopy copy = apply_pass(fold_constants, graph, {sqrt(a * a + b * b)});
  EXPECT_EQ(num_needed(copy), 1U);
  EXPECT_EQ(number_of(copy.values[0]), 5);
}

TEST(FoldConstants, LeavesWhatWouldTakeMemory) {
  Graph graph;
  const Var large = broadcast_to(scalar(graph, f32, 1), {1000, 1000});
  const GraphCopy copy = apply_pass(fold_constants, graph, {exp(large)});
  EXPECT_EQ(count_needed(copy, "exp"), 1U);
  EXPECT_EQ(count_needed(copy, "broadcast_to"), 1U);
}

TEST(FoldConstants, LeavesWhatDependsOnInputsOrSizes) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n"});
  const GraphCopy copy = apply_pass(fold_constants, graph, {x + 1, shape_of(x) * 2});
  EXPECT_EQ(count_needed(copy, "add"), 1U);
  EXPECT_EQ(count_needed(copy, "multiply"), 1U);
}

TEST(CleanCasts, TakesOutWhatChangesNothing) {
  Graph graph;
  const Var x = graph.input("x", bf16, {3});
  const GraphCopy back = apply_pass(clean_casts, graph, {cast(cast(x, f32), bf16)});
  EXPECT_EQ(back.values[0], back.graph->inputs()[0].output());
  const GraphCopy on = apply_pass(clean_casts, graph, {cast(cast(x, f32), f64)});
  EXPECT_EQ(count_needed(on, "cast"), 1U);
}

TEST(CleanCasts, LeavesWhatRounds) {
  struct Case {
    DType from, middle, to;
  };
  for (const Case c :
       {Case{f32, bf16, f32}, Case{f64, f32, f64}, Case{f32, i32, f32}, Case{i64, f32, i64},
        Case{bf16, f16, bf16}, Case{f32, boolean, f32}, Case{i8, u8, i8}, Case{i32, f32, i32}}) {
    Graph graph;
    const Var x = graph.input("x", c.from, {3});
    const GraphCopy copy = apply_pass(clean_casts, graph, {cast(cast(x, c.middle), c.to)});
    EXPECT_EQ(count_needed(copy, "cast"), 2U) << name(c.from) << " " << name(c.middle);
  }
}

TEST(DelayBroadcasts, ComputesOnWhatIsRepeated) {
  Graph graph;
  const Var row = graph.input("row", f32, {5}), x = graph.input("x", f32, {"n", 5});
  const GraphCopy copy =
      apply_pass(delay_broadcasts, graph, {x + exp(broadcast_to(row, {x.dim(0), 5}))});
  EXPECT_EQ(count_needed(copy, "broadcast_to"), 0U);
  const GraphCopy alone = apply_pass(delay_broadcasts, graph, {exp(broadcast_to(row, {7, 5}))});
  EXPECT_EQ(alone.values[0].producer().def().name, "broadcast_to");
  EXPECT_EQ(alone.values[0].producer().input(0).producer().def().name, "exp");
}

TEST(Reassociate, AddsUpMultiples) {  // x + 1 - 2 + x is 2x - 1
  for (const DType dtype : {f32, i64}) {
    Graph graph;
    const Var x = graph.input("x", dtype, {3});
    const ReassociateOptions fast{.floats = true};
    const GraphCopy copy = apply_pass(reassociate, graph, {x + 1 - 2 + x}, fast);
    const Op last = copy.values[0].producer();
    ASSERT_EQ(last.def().name, "subtract") << name(dtype);
    EXPECT_EQ(number_of(last.input(1)), 1);
    const Op twice = last.input(0).producer();
    ASSERT_EQ(twice.def().name, "multiply");
    EXPECT_EQ(number_of(twice.input(1)), 2);
  }
}

TEST(Reassociate, AddsSmallValuesFirst) {  // x + a + y + b is (a + b) + x + y
  Graph graph;
  const Var x = graph.input("x", f32, {64, 64}), y = graph.input("y", f32, {64, 64});
  const Var a = graph.input("a", f32, {64}), b = graph.input("b", f32, {64});
  const ReassociateOptions fast{.floats = true};
  for (const bool product : {false, true}) {
    const Var before = product ? x * a * y * b : x + a + y + b;
    const GraphCopy copy = apply_pass(reassociate, graph, {before}, fast);
    const Op outer = copy.values[0].producer();
    const Op inner = outer.input(0).producer();
    EXPECT_EQ(inner.input(0).producer().output().shape(), (Dims{64}));
    EXPECT_EQ(num_needed(copy), 4U + 3U);
  }
}

TEST(Reassociate, KeepsTheOrderOfFloatsUnlessAsked) {
  Graph graph;
  const Var x = graph.input("x", f32, {3});
  const GraphCopy copy = apply_pass(reassociate, graph, {x + 1 - 2 + x}, ReassociateOptions{});
  EXPECT_EQ(count_needed(copy, "add"), 2U);
  EXPECT_EQ(count_needed(copy, "subtract"), 1U);
}

TEST(Reassociate, KeepsTheShapeWhenEverythingCancels) {
  Graph graph;
  const Var x = graph.input("x", i64, {3});
  const GraphCopy copy = apply_pass(reassociate, graph, {x - x}, ReassociateOptions{});
  EXPECT_EQ(copy.values[0].shape(), (Dims{3}));
}

TEST(Pipeline, NamesItsPasses) {
  EXPECT_NO_THROW(check({.level = 3, .disabled = {"fuse-elementwise", "simplify"}}));
  try {
    check({.disabled = {"fuse-elementwize"}});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "there is no pass 'fuse-elementwize'; did you mean 'fuse-elementwise'?");
  }
  EXPECT_THROW(check({.level = 4}), InvalidArgument);
}

}  // namespace antichain::rewriting_test
