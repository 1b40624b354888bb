// Layers say where the user called them: their ops have that place, and so have their messages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "antichain/nn/layer.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/nn/ranking.h"
#include "antichain/nn/wide.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::places_test {

class LayerPlaces : public testing::Test {
 protected:
  /// Checks that all ops since the last time are of the line of this call, which has built them.
  template <class Built>
  void expect_here(const Built&, Place here = Place::current()) {
    EXPECT_LT(checked_, graph.num_ops()) << "nothing was built in line " << here.line();
    for (; checked_ < graph.num_ops(); ++checked_) {
      const Op op = graph.op(OpId{static_cast<std::uint32_t>(checked_)});
      EXPECT_EQ(op.location().line(), here.line()) << op.describe();
      EXPECT_STREQ(op.location().file_name(), here.file_name()) << op.describe();
    }
  }
  void start() { checked_ = graph.num_ops(); }

  Graph graph;

 private:
  std::size_t checked_ = 0;
};

TEST_F(LayerPlaces, OfEveryLayer) {
  const Var x = graph.input("x", f32, {"batch", 6});
  const Var image = graph.input("image", f32, {"batch", 4, 8, 8});
  const Var xs = graph.input("xs", f32, {"time", "batch", 6});
  const Var tokens = graph.input("tokens", f32, {"batch", "time", 6});
  const Var ids = graph.input("ids", i64, {"count"});
  const Var offsets = graph.input("offsets", i64, {"bags"});
  const Csr adjacency{.values = graph.input("values", f32, {"stored"}),
                      .columns = graph.input("columns", i64, {"stored"}),
                      .row_starts = graph.input("row_starts", i64, {graph.dim("batch") + 1}),
                      .num_columns = graph.dim("batch")};
  const Csr sparse_x{.values = graph.input("x_values", f32, {"x_stored"}),
                     .columns = graph.input("x_columns", i64, {"x_stored"}),
                     .row_starts = graph.input("x_starts", i64, {graph.dim("batch") + 1}),
                     .num_columns = 9};
  start();
  expect_here(linear(x, 3));
  expect_here(mlp(x, {5, 3}));
  expect_here(maxout(x, 3));
  expect_here(conv2d(image, 3, {3, 3}));
  expect_here(global_avg_pool(image));
  expect_here(dropout(x, {.training = true}));
  expect_here(adaptive_dropout(x, {.training = true}));
  expect_here(embedding(ids, 7, 3));
  expect_here(embedding_bag(ids, 7, 3, {.offsets = offsets}));
  expect_here(gcn(adjacency, x, 3));
  expect_here(gcn(adjacency, sparse_x, 3, {.name = "sparse"}));
  expect_here(rnn(xs, 3));
  expect_here(lstm(xs, 3, {.layers = 2}));
  expect_here(gru(xs, 3));
  expect_here(implicit_gru(xs, 3));
  expect_here(min_gru(xs, 3));
  expect_here(batch_norm(image, {.training = true}));
  expect_here(layer_norm(x));
  expect_here(residual(x, 3));
  expect_here(residual_conv(image, 3, {.name = "conv_chain"}));
  expect_here(multi_head_attention(tokens, {.heads = 2}));
  expect_here(transformer_block(tokens, {.dropout = 0.1, .training = true}));
}

TEST_F(LayerPlaces, OfEveryLoss) {
  const Var logits = graph.input("logits", f32, {"batch", 5});
  const Var other = graph.input("other", f32, {"batch", 5});
  const Var labels = graph.input("labels", i64, {"batch"});
  start();
  expect_here(cross_entropy(logits, labels, {.label_smoothing = 0.1, .ignore = 2}));
  expect_here(mse(logits, other));
  expect_here(binary_cross_entropy(logits, other));
  expect_here(multi_label_softmax(logits, {.multi_hot = other}));
  expect_here(multi_label_binary(logits, {.multi_hot = other}));
  expect_here(is_correct(logits, labels, 2));
  expect_here(correct(logits, labels));
  expect_here(zero_one(logits, labels));
  const LabelSets truth{.labels = graph.input("own", i64, {"own"}),
                        .row_starts = graph.input("starts", i64, {graph.dim("batch") + 1})};
  const Negatives drawn{.labels = graph.input("drawn", i64, {"drawn"}),
                        .log_expected = graph.input("log_expected", f32, {"drawn"})};
  const Var scores = graph.input("scores", f32, {5});
  start();
  expect_here(sampled_softmax(logits, 7, truth, drawn));
  expect_here(wide_mlp(logits, {7}));
  expect_here(wide_losses(logits, {7}, truth, {.name = "losses"}));
  const Ranking ranking = rank_labels(logits, truth, 3);
  start();
  expect_here(precision_at(ranking, 3));
  expect_here(scored_precision_at(ranking, truth, scores, 3));
}

std::string at(unsigned line, const std::string& scope) {
  return fmt::format(" (at places_test.cpp:{}, in '{}')", line, scope);
}

TEST_F(LayerPlaces, AreInMessages) {
  const Var x = graph.input("x", f32, {"batch", 6});
  const auto transposed = [](Graph& target, DType dtype, const Dims& shape) {
    return zeros(target, dtype, {shape[1], shape[0]});
  };
  expect_error<ShapeError>("matmul: inner sizes cannot match: 6 and 5" + at(__LINE__ + 1, "linear"),
                           [&] { linear(x, 5, {.weight = transposed}); });
}

// Another language has files of its own.
TEST_F(LayerPlaces, MayBeOfAnotherLanguage) {
  const Var x = graph.input("x", f32, {"batch", 6});
  std::string file = "model.py";
  const Var y = linear(x, 3, {}, Place::of(file, 12));
  file = "other.py";
  EXPECT_STREQ(y.producer().location().file_name(), "model.py");
  EXPECT_EQ(y.producer().location().line(), 12U);
  EXPECT_TRUE(y.producer().describe().ends_with("(model.py:12)")) << y.producer().describe();
  EXPECT_EQ(Place::of("model.py", 1).file_name(), Place::of("model.py", 2).file_name());
}

}  // namespace antichain::nn::places_test
