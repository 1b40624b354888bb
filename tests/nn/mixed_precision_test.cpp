// A network whose input is bf16: f32 parameters and gradients, products in bf16.
#include <gmock/gmock.h>

#include <cmath>

#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/nn/wide.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"

namespace antichain::nn::mixed_precision_test {

struct Model {
  std::string name;
  Shape shape;  // of the input
  std::function<Var(Var x)> build;
};

Csr ring(Graph& graph) {
  return {.values = constant(graph, Tensor::full(f32, {4}, 0.5)),
          .columns = constant(graph, Tensor::of<std::int64_t>({4}, {1, 2, 3, 0})),
          .row_starts = constant(graph, Tensor::of<std::int64_t>({5}, {0, 1, 2, 3, 4})),
          .num_columns = 4};
}

std::vector<Model> models() {
  return {{"mlp",
           {8, 6},
           [](Var x) {
             return mlp(x, {16, 4});
           }},
          {"maxout", {8, 6}, [](Var x) { return maxout(x, 4); }},
          {"conv",
           {2, 3, 6, 6},
           [](Var x) {
             return batch_norm(conv2d(x, 4, {3, 3}), {.training = true});
           }},
          {"evaluated",
           {2, 3, 6, 6},
           [](Var x) {
             return batch_norm(conv2d(x, 4, {3, 3}));
           }},
          {"rnn", {16, 4, 6}, [](Var x) { return rnn(x, 8).last; }},
          {"lstm", {16, 4, 6}, [](Var x) { return lstm(x, 8).last; }},
          {"gru", {16, 4, 6}, [](Var x) { return gru(x, 8).last; }},
          // Sums of so many gradients would come to a halt in bf16.
          {"long_gru", {2000, 2, 3}, [](Var x) { return gru(x, 4).all; }},
          {"implicit_gru", {16, 4, 6}, [](Var x) { return implicit_gru(x, 8).last; }},
          {"min_gru", {16, 4, 6}, [](Var x) { return min_gru(x, 8); }},
          {"min_gru_scan", {16, 4, 6}, [](Var x) { return min_gru(x, 8, {.engine = "scan"}); }},
          {"residual", {4, 8}, [](Var x) { return residual(x, 12, {.step = 0.1}).last; }},
          {"residual_conv",
           {2, 3, 5, 5},
           [](Var x) { return residual_conv(x, 8, {.step = 0.1}).last; }},
          {"wide",
           {4, 6},
           [](Var x) {
             return wide_mlp(x, {12, 8}, {.weight = normal(0, 0.5)});
           }},
          {"gcn", {4, 6}, [](Var x) { return gcn(ring(x.graph()), x, 8); }},
          {"transformer", {2, 5, 8}, [](Var x) {
             return transformer_block(x, {.heads = 2, .causal = true});
           }}};
}

struct Built {
  std::vector<std::string> parameters;
  std::vector<Var> gradients;
  Executable run;
};

Built build(Session& session, Graph& graph, const Model& model, DType dtype) {
  const Dims shape = to_dims(model.shape);
  const Var x = graph.input("x", f32, {shape.begin(), shape.end()});
  const Var y = model.build(cast(x, dtype));
  EXPECT_EQ(y.dtype(), dtype);
  const Var loss = mean(mse(y, zeros_like(y) + 1));
  EXPECT_EQ(loss.dtype(), f32);
  const std::vector<Var> trained = parameters(graph);
  for (Var parameter : trained) {
    EXPECT_EQ(parameter.dtype(), f32) << state_name(parameter);
  }
  const std::vector<Var> gradients = grad(loss, trained);
  return {list_parameters(graph), gradients, session.compile(gradients)};
}

class MixedPrecision : public testing::TestWithParam<Model> {};

INSTANTIATE_TEST_SUITE_P(Models, MixedPrecision, testing::ValuesIn(models()),
                         [](const auto& model) { return model.param.name; });

TEST_P(MixedPrecision, KeepsParametersAndGradientsInF32) {
  constexpr double kRelative = 4.0 / 256;  // four units of the last of bf16's 8 bits
  Session session;
  Graph wide = session.graph(), narrow = session.graph();
  const Built expected = build(session, wide, GetParam(), f32);
  const Built found = build(session, narrow, GetParam(), bf16);
  EXPECT_EQ(found.parameters, expected.parameters);
  const Feeds feeds = {{"x", random_values(GetParam().shape, 1).cast(f32)}};
  const Results a = expected.run(feeds), b = found.run(feeds);
  double error = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(b[i].dtype(), f32);
    const std::vector<float> want = a[i].to_vector<float>(), have = b[i].to_vector<float>();
    for (std::size_t n = 0; n < want.size(); ++n) {
      error += std::pow(want[n] - have[n], 2);
      length += std::pow(want[n], 2);
    }
  }
  EXPECT_GT(error, 0);
  EXPECT_LT(std::sqrt(error / length), kRelative);
}

TEST_P(MixedPrecision, MultipliesInBf16) {
  Session session;
  Graph graph = session.graph();
  const Built found = build(session, graph, GetParam(), bf16);
  Graph& compiled = found.run.graph();
  int products = 0;
  for (std::uint32_t id = 0; id < compiled.num_ops(); ++id) {
    const Op op = compiled.op(OpId{id});
    if (&op.def() == &matmul_def() || &op.def() == &conv_def() ||
        &op.def() == &conv_input_gradient_def() || &op.def() == &conv_weight_gradient_def()) {
      ++products;
      EXPECT_EQ(op.output().dtype(), bf16) << op.describe();
    }
  }
  EXPECT_GT(products, 0);
}

// 1 + 1/512 is 1 in bf16.
TEST(MixedPrecisionResidual, ManySmallStepsAddUp) {
  constexpr int kLayers = 512;
  Session session;
  Graph graph = session.graph();
  const Var u = graph.input("u", bf16, {1, 1});
  const auto always_one = [](const Operand& x) { return ones_like(x); };
  const Var last = residual(u, kLayers, {.step = 1.0 / kLayers, .activation = always_one}).last;
  EXPECT_EQ(last.dtype(), bf16);
  const Tensor start = Tensor::full(bf16, {1, 1}, 1);
  EXPECT_EQ(session.compile({last})({{"u", start}})[0].to_vector<double>()[0], 2);
}

TEST(MixedPrecisionEmbedding, CastsTheRowsOfAnF32Table) {
  Graph graph;
  const Var ids = graph.input("ids", i64, {"n", 2});
  EXPECT_EQ(embedding(ids, 5, 3, {.dtype = bf16}).dtype(), bf16);
  EXPECT_EQ(embedding_bag(ids, 5, 3, {.dtype = f16}).dtype(), f16);
  for (Var parameter : parameters(graph)) {
    EXPECT_EQ(parameter.dtype(), f32);
  }
}

}  // namespace antichain::nn::mixed_precision_test
