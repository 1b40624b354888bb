#include "antichain/graph/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::print_test {

using testing::HasSubstr;

class PrintTest : public testing::Test {
 protected:
  PrintTest() {
    graph.set_name(product, "product");
    print(product, "say \"hello\"");
    const ScopeGuard scope(graph, "model.rnn");
    graph.set_name(chain(x, xs, [&](Var s, Var v) { return tanh(s + v); }).last, "state");
  }

  Graph graph;
  Var x = graph.input("x", DType::f32, {"batch", 3}),
      xs = graph.input("xs", DType::f32, {5, "batch", 3});
  Var w = parameter("weight", zeros(graph, DType::f32, {2, 3}));
  Var product = matmul(x, w, {.transpose_b = true});
};

TEST_F(PrintTest, TextHasALinePerOp) {
  const std::string text = print_text(graph);
  EXPECT_THAT(text, HasSubstr("state weight: f32[2, 3] trainable\n"));
  EXPECT_THAT(text, HasSubstr("x: f32[batch, 3] = input() {name=\"x\", dtype=f32, shape=[batch, "
                              "3]}\n"));
  EXPECT_THAT(text, HasSubstr("product: f32[batch, 2] = matmul(x, weight) {transpose_a=false, "
                              "transpose_b=true}\n"));
  EXPECT_THAT(text, HasSubstr("= chain(x, xs) {states=1, xs=1, length=5, reverse=false, slots=0, "
                              "engine=\"\"}  # "
                              "model.rnn\n"));
  EXPECT_THAT(text, HasSubstr("  region(step: i64[], "));
  EXPECT_THAT(text, HasSubstr("    return "));
  EXPECT_THAT(text, HasSubstr("= tanh("));
}

TEST_F(PrintTest, TextShowsControlEdges) {
  print(x, "late");
  EXPECT_THAT(print_text(graph), HasSubstr(" after print "));
}

TEST_F(PrintTest, DotHasBoxesEdgesAndClusters) {
  print(x, "late");
  const std::string dot = print_dot(graph);
  EXPECT_EQ(dot.rfind("digraph antichain {\n", 0), 0U);
  EXPECT_THAT(dot,
              HasSubstr("[shape=box, label=\"matmul {transpose_a=false, transpose_b=true}\"]"));
  EXPECT_THAT(dot, HasSubstr("[label=\"x f32[batch, 3]\"]"));
  EXPECT_THAT(dot, HasSubstr("[style=dashed]"));
  EXPECT_THAT(dot, HasSubstr("label=\"region of chain\""));
  EXPECT_THAT(dot, HasSubstr("say \\\"hello\\\"")) << "quotes within quotes";
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{') - std::count(dot.begin(), dot.end(), '}'), 0);
}

TEST_F(PrintTest, AnEmptyGraph) {
  Graph empty;
  EXPECT_EQ(print_text(empty), "");
  EXPECT_EQ(print_dot(empty), "digraph antichain {\n}\n");
}

}  // namespace antichain::print_test
