// Which ops go together with a product.
#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/op_cost.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/passes/fusion/fuse_elementwise.h"
#include "antichain/passes/fusion/fuse_products.h"
#include "tests/passes/pass_test.h"

namespace antichain::product_fusion_test {

GraphCopy both_passes(const GraphCopy& source) { return fuse_products(fuse_elementwise(source)); }

struct Layer {
  Graph graph;
  Var x = graph.input("x", f32, {"n", 50}), w = graph.input("w", f32, {50, 4});
  Var b = graph.input("b", f32, {4}), r = graph.input("r", f32, {x.dim(0), 4});
  Var product = matmul(x, w);
};

std::string label_of(const GraphCopy& copy) {
  return copy.values[0].producer().attrs().get<std::string>("label");
}

TEST(FuseProducts, BiasActivationAndResidual) {
  Layer layer;
  const GraphCopy copy =
      apply_pass(both_passes, layer.graph, {gelu(layer.product * 2 + layer.b) + layer.r});
  EXPECT_EQ(label_of(copy), "matmul, multiply, add, gelu, add");
  EXPECT_EQ(num_needed(copy), 1U + 4U);  // with the inputs; the number is inside
}

TEST(FuseProducts, OneOpAlone) {
  Layer layer;
  const GraphCopy copy = apply_pass(fuse_products, layer.graph, {layer.product * 2});
  EXPECT_EQ(label_of(copy), "matmul, multiply");
  EXPECT_EQ(num_needed(copy), 1U + 2U);
}

TEST(FuseProducts, AReaderThatReadsItTwice) {
  Layer layer;
  const GraphCopy copy = apply_pass(fuse_products, layer.graph, {layer.product * layer.product});
  EXPECT_EQ(label_of(copy), "matmul, multiply");
}

TEST(FuseProducts, Convolutions) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 3, 8, 8}), w = graph.input("w", f32, {4, 3, 3, 3});
  const Var b = graph.input("b", f32, {4, 1, 1});
  const Var y = relu(conv(x, w) + b);
  EXPECT_EQ(label_of(apply_pass(both_passes, graph, {y})), "conv, add, relu");
  const Var grad_x = grad(sum(square(y)), x) * 2;
  EXPECT_EQ(label_of(apply_pass(both_passes, graph, {grad_x})), "conv_input_gradient, multiply");
}

TEST(FuseProducts, OfTwoProductsTheLater) {
  Layer layer;
  const Var h = layer.graph.input("h", f32, {layer.x.dim(0), 33});
  const Var u = layer.graph.input("u", f32, {33, 4});
  const GraphCopy copy =
      apply_pass(both_passes, layer.graph, {tanh(matmul(h, u) + layer.product + layer.b)});
  EXPECT_EQ(count_needed(copy, "matmul"), 1U);
  EXPECT_EQ(count_needed(copy, "fused_product"), 1U);
  const Op product = product_of(copy.values[0].producer());
  EXPECT_EQ(product.input(0).shape()[1], Dim(33));
}

TEST(FuseProducts, LeavesAloneWhatHasTwoReaders) {
  Layer layer;
  const Var norm = sum(layer.product);
  const GraphCopy copy = apply_pass(both_passes, layer.graph, {relu(layer.product) + norm});
  EXPECT_EQ(count_needed(copy, "matmul"), 1U);
  EXPECT_EQ(count_needed(copy, "fused_product"), 0U);
}

TEST(FuseProducts, LeavesAloneWhatIsFetched) {
  Layer layer;
  const GraphCopy copy = apply_pass(both_passes, layer.graph, {relu(layer.product), layer.product});
  EXPECT_EQ(count_needed(copy, "matmul"), 1U);
  EXPECT_EQ(count_needed(copy, "fused_product"), 0U);
}

TEST(FuseProducts, LeavesAloneWhatWaitsOrIsWaitedFor) {
  for (const bool waits : {false, true}) {
    Layer layer;
    const Var other = matmul(layer.x, layer.w * 3), y = relu(layer.product) + sum(other);
    const Op product = layer.product.producer();
    layer.graph.add_control_edge(waits ? sum(layer.b).producer() : product,
                                 waits ? product : other.producer());
    const GraphCopy copy = apply_pass(both_passes, layer.graph, {y});
    EXPECT_EQ(count_needed(copy, "matmul"), 2U) << waits;
  }
}

TEST(FuseProducts, LeavesAloneWhatMayNotFit) {
  Layer layer;
  const Var other = layer.graph.input("v", f32, {"k", 4});
  const GraphCopy sizes = apply_pass(both_passes, layer.graph, {relu(matmul(layer.x, other))});
  EXPECT_EQ(count_needed(sizes, "matmul"), 1U) << "k must turn out to be 50";
  const GraphCopy reader = apply_pass(both_passes, layer.graph, {layer.product + other});
  EXPECT_EQ(count_needed(reader, "matmul"), 1U) << "k must turn out to be n";
}

TEST(FuseProducts, LeavesAloneWhatIsRepeated) {
  Layer layer;
  const Var column = layer.graph.input("c", f32, {50, 1});
  const GraphCopy copy =
      apply_pass(both_passes, layer.graph, {relu(matmul(layer.x, column) + layer.r)});
  EXPECT_EQ(count_needed(copy, "matmul"), 1U);
  EXPECT_EQ(count_needed(copy, "fused"), 1U);
}

TEST(FuseProducts, LeavesAloneWhatIsLittleWork) {
  for (const bool transposed : {false, true}) {
    Graph graph;
    const Var w = graph.input("w", f32, {31, 31}), v = graph.input("v", f32, {"n", 31});
    const Var x = graph.input("x", f32, {transposed ? v.dim(0) : Dim(4), 31});
    const GraphCopy copy =
        apply_pass(fuse_products, graph, {relu(matmul(x, transposed ? v : w, {transposed}))});
    EXPECT_EQ(count_needed(copy, "matmul"), transposed ? 0U : 1U) << "n may be large";
  }
}

TEST(FuseProducts, InBodiesAndBackwards) {
  Graph graph;
  const Var h = graph.input("h", f32, {2, 40}), xs = graph.input("xs", f32, {7, 2, 40});
  const Var u = graph.input("u", f32, {40, 40});
  const Var y = chain(h, xs, [&](Var s, Var x) { return tanh(matmul(s, u) + x); }).last;
  const GraphCopy copy = apply_pass(both_passes, graph, {y, grad(sum(y), h)});
  std::size_t inside = 0, products = 0;
  for (std::uint32_t id = 0; id < copy.graph->num_ops(); ++id) {
    inside += copy.graph->op(OpId{id}).def().name == "fused_product" ? 1 : 0;
  }
  for (Op op : schedule_region(*copy.graph, copy.values[0].producer().regions()[0])) {
    products += op.def().name == "matmul" ? 1 : 0;
  }
  EXPECT_GE(inside, 2U);
  EXPECT_EQ(products, 0U);
}

TEST(FuseProducts, ResultsOfBodiesStay) {
  Graph graph;
  const Var h = graph.input("h", f32, {2, 40}), u = graph.input("u", f32, {40, 40});
  const Var xs = graph.input("xs", f32, {7, 2, 40});
  const ChainResult all = chain({h}, {xs}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
    const Var product = matmul(s[0], u);
    return {{tanh(product + x[0])}, {product}};
  });
  const GraphCopy copy = apply_pass(both_passes, graph, {all.last[0], all.ys[0]});
  EXPECT_EQ(schedule_region(*copy.graph, copy.values[0].producer().regions()[0])[0].def().name,
            "matmul");
}

TEST(FuseProducts, WhatUsersHaveFused) {
  Layer layer;
  const Var y =
      fused_product(layer.graph, [&] { return Vars{relu(matmul(layer.x, layer.w) + layer.b)}; })[0];
  EXPECT_EQ(label_of(apply_pass(both_passes, layer.graph, {y * layer.r})),
            "matmul, add, relu, multiply");
  EXPECT_EQ(count_needed(apply_pass(fuse_products, layer.graph, {y}), "fused_product"), 1U);
}

TEST(FusedProduct, CostsWhatItsProductCosts) {
  Layer layer;
  const GraphCopy copy = apply_pass(both_passes, layer.graph, {relu(layer.product + layer.b)});
  const Op fused = copy.values[0].producer();
  const std::vector<Shape> inputs = {{7, 50}, {50, 4}, {4}}, outputs = {{7, 4}};
  EXPECT_EQ(flops(fused, inputs, outputs), 2 * 7 * 50 * 4);
  EXPECT_GT(estimated_seconds(fused, {}), estimated_seconds(layer.product.producer(), {}));
}

TEST(FusedProduct, MistakesAreNamed) {
  const auto message = [](const std::function<Vars(Layer&)>& body) -> std::string {
    Layer layer;
    try {
      fused_product(layer.graph, [&] { return body(layer); });
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message([](Layer&) { return Vars{}; }), HasSubstr("the body returns nothing"));
  EXPECT_THAT(message([](Layer& layer) { return Vars{relu(layer.x)}; }),
              HasSubstr("the body has no product"));
  EXPECT_THAT(message([](Layer& layer) { return Vars{relu(matmul(relu(layer.x), layer.w))}; }),
              HasSubstr("matmul reads what the body computes"));
  EXPECT_THAT(message([](Layer& layer) { return Vars{sum(matmul(layer.x, layer.w))}; }),
              HasSubstr("sum is neither element-wise of shape [n, 4] nor a number"));
  EXPECT_THAT(message([](Layer& layer) {
                return Vars{relu(matmul(layer.x, layer.w)), relu(layer.b)};
              }),
              HasSubstr("relu is neither element-wise of shape [n, 4] nor a number"));
}

}  // namespace antichain::product_fusion_test
