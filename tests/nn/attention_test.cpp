// That values and gradients are PyTorch's is checked by tests/peer.
#include "antichain/nn/attention.h"

#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/passes/pipeline.h"
#include "antichain/session/eager.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::attention_test {

Tensor flags(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::of(shape, values).cast(boolean);
}

TEST(Attention, NamesItsParameters) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", "time", 6});
  const Var memory = graph.input("memory", f32, {"batch", "keys", 5});
  EXPECT_EQ(multi_head_attention(x, {.heads = 3, .memory = memory}).shape(), x.shape());
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("attention.query.weight [6, 6]", "attention.query.bias [6]",
                                   "attention.key.weight [5, 6]", "attention.key.bias [6]",
                                   "attention.value.weight [5, 6]", "attention.value.bias [6]",
                                   "attention.out.weight [6, 6]", "attention.out.bias [6]"));
}

TEST(Transformer, NamesItsParameters) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", "time", 4});
  EXPECT_EQ(transformer_block(x, {.heads = 2}).shape(), x.shape());
  EXPECT_THAT(list_parameters(graph),
              testing::IsSupersetOf({"block.norm_1.scale [4]", "block.attention.out.weight [4, 4]",
                                     "block.norm_2.bias [4]", "block.mlp.0.weight [4, 16]",
                                     "block.mlp.1.weight [16, 4]"}));
}

// What is padding may hold anything, and what comes later too.
TEST(Attention, DoesNotSeeWhatIsMasked) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {1, 4, 4}), mask = graph.input("mask", boolean, {1, 4});
  const Var padded = multi_head_attention(x, {.name = "a", .heads = 2, .mask = mask});
  const Var causal = multi_head_attention(x, {.name = "b", .heads = 2, .causal = true});
  const Executable run = session.compile(
      {slice(padded, {{.axis = 1, .stop = 3}}), slice(causal, {{.axis = 1, .stop = 3}})});
  const Tensor value = random_values({1, 4, 4}, 1), changed = value.clone();
  changed.data<double>()[13] += 5;  // the last position
  const Tensor seen = flags({1, 4}, {1, 1, 1, 0});
  const Results a = run({{"x", value}, {"mask", seen}}), b = run({{"x", changed}, {"mask", seen}});
  EXPECT_TRUE(bit_equal(a[0], b[0]));
  EXPECT_TRUE(bit_equal(a[1], b[1]));
  const Tensor all = flags({1, 4}, {1, 1, 1, 1});
  EXPECT_FALSE(bit_equal(run({{"x", value}, {"mask", all}})[0], a[0]));
}

TEST(Attention, WithoutAnyKeyIsTheMeanOfTheValues) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", dtype, {1, 2, 2}), mask = graph.input("mask", boolean, {1, 2});
    const Executable run = session.compile({multi_head_attention(x, {.mask = mask})});
    const Tensor value = random_values({1, 2, 2}, 1).cast(dtype);
    const std::vector<float> y =
        run({{"x", value}, {"mask", flags({1, 2}, {0, 0})}})[0].cast(f32).to_vector<float>();
    EXPECT_FLOAT_EQ(y[0], y[2]) << name(dtype);
    EXPECT_FLOAT_EQ(y[1], y[3]) << name(dtype);
  }
}

TEST(Attention, HasTheGradientsOfFiniteDifferences) {
  expect_layer_gradients(
      [](Graph& graph, const std::vector<Var>& in) {
        const Var mask = constant(graph, flags({2, 2}, {1, 1, 0, 1}));
        return multi_head_attention(in[0], {.heads = 2, .memory = in[1], .mask = mask});
      },
      {random_values({2, 3, 4}, 1), random_values({2, 2, 3}, 2)});
  expect_layer_gradients(
      [](Graph&, const std::vector<Var>& in) {
        return transformer_block(in[0], {.heads = 2, .mlp_width = 3, .causal = true});
      },
      // A norm of two values is a step function, which differences cannot follow.
      {random_values({2, 3, 4}, 3)});
}

// On the CPU it is products and a softmax, whose weights the gradient reads, too.
TEST(Attention, IsTakenApartOnTheCpu) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", "time", 8});
  const Var y = multi_head_attention(x, {.heads = 2, .causal = true});
  const std::vector<Var> values = {y, grad(sum(y * y), x)};
  const GraphCopy compiled =
      run_passes(graph, values, {},
                 {.level = 1, .is_missing = [&](Op op) { return session.takes_apart(op); }});
  std::map<std::string, int> counts;
  for (std::uint32_t i = 0; i < compiled.graph->num_ops(); ++i) {
    ++counts[compiled.graph->op(OpId{i}).def().name];
  }
  EXPECT_EQ(counts["attention"] + counts["attention_gradient"], 0);
  EXPECT_EQ(counts["softmax"], 1);
  EXPECT_EQ(counts["softmax_gradient"], 1);
  EXPECT_EQ(counts["logsumexp"], 0);
}

// So it is in eager mode, where products see other strides and may add up in another order.
TEST(Attention, HasItsValuesInEagerMode) {
  Session session;
  const Tensor value = random_values({2, 5, 8}, 1).cast(f32);
  Graph graph = session.graph();
  const auto build = [](Var x) {
    const Var y = multi_head_attention(x, {.heads = 2, .causal = true});
    return std::vector<Var>{y, grad(sum(y * y), x)};
  };
  const Results compiled = session.compile(build(graph.input("x", f32, {2, 5, 8})))({{"x", value}});
  Eager eager(session);
  const std::vector<Var> known = build(eager(value));
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::vector<double> got = known[i].value().to_vector<double>();
    const std::vector<double> want = compiled[i].to_vector<double>();
    for (std::size_t n = 0; n < want.size(); ++n) {
      EXPECT_NEAR(got[n], want[n], 1e-5) << "value " << i << ", element " << n;
    }
  }
}

TEST(Transformer, DropsInTrainingOnly) {
  Session session;
  Graph train = session.graph(), evaluation = session.graph();
  const auto build = [](Graph& graph, bool training) {
    return transformer_block(graph.input("x", f32, {2, 3, 8}),
                             {.heads = 2, .dropout = 0.5, .training = training});
  };
  const Executable noisy = session.compile({build(train, true)});
  const Executable calm = session.compile({build(evaluation, false)});
  const Feeds feeds = {{"x", random_values({2, 3, 8}, 1).cast(f32)}};
  EXPECT_FALSE(bit_equal(noisy(feeds)[0], noisy(feeds)[0]));
  EXPECT_TRUE(bit_equal(calm(feeds)[0], calm(feeds)[0]));
}

TEST(Attention, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", "time", 4}), flat = graph.input("f", f32, {2, 4});
  expect_error<ShapeError>(
      "multi_head_attention: x must be [batch, time, features] with a known number of features, "
      "its shape is [2, 4]",
      [&] { multi_head_attention(flat); });
  expect_error<ShapeError>(
      "multi_head_attention: memory must be [batch, time, features] with a known number of "
      "features, its shape is [2, 4]",
      [&] { multi_head_attention(x, {.memory = flat}); });
  expect_error<InvalidArgument>("multi_head_attention: 3 heads do not divide a width of 4",
                                [&] { multi_head_attention(x, {.heads = 3}); });
  expect_error<TypeError>("multi_head_attention: the mask must be bool [batch, keys]",
                          [&] { multi_head_attention(x, {.mask = flat}); });
  expect_error<InvalidArgument>("multi_head_attention: dropout must be within [0, 1), got 2",
                                [&] { multi_head_attention(x, {.dropout = 2}); });
  expect_error<InvalidArgument>("transformer_block: mlp_width must not be negative, got -1",
                                [&] { transformer_block(x, {.mlp_width = -1}); });
}

}  // namespace antichain::nn::attention_test
