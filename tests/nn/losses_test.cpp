// That values and gradients are PyTorch's is checked by tests/peer.
#include "antichain/nn/losses.h"

#include <gmock/gmock.h>

#include <cmath>

#include "antichain/session/session.h"
#include "tests/autodiff/finite_difference.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::losses_test {

using Doubles = std::vector<double>;

class Losses : public testing::Test {
 protected:
  Doubles run(Var value) { return session.compile({value})({})[0].to_vector<double>(); }
  Var numbers(const Shape& shape, const Doubles& values) {
    return constant(graph, Tensor::of(shape, values));
  }
  Var integers(const Shape& shape, const std::vector<std::int64_t>& values) {
    return constant(graph, Tensor::of(shape, values));
  }

  Session session;
  Graph graph = session.graph();
};

TEST_F(Losses, CrossEntropyOfEqualLogitsIsTheLogarithmOfTheClasses) {
  const Var logits = numbers({2, 4}, Doubles(8, 3.0)), labels = integers({2}, {1, 3});
  EXPECT_THAT(run(cross_entropy(logits, labels)),
              testing::Each(testing::DoubleNear(std::log(4), 1e-15)));
  EXPECT_THAT(run(cross_entropy(logits, labels, {.label_smoothing = 0.5})),
              testing::Each(testing::DoubleNear(std::log(4), 1e-15)));
}

TEST_F(Losses, IgnoredExamplesCountNothing) {
  const Var logits = numbers({3, 2}, {1, 5, 2, 2, 9, 0});
  const Var labels = integers({3}, {0, -1, -1});
  for (const double smoothing : {0.0, 0.25}) {
    const Doubles found =
        run(cross_entropy(logits, labels, {.label_smoothing = smoothing, .ignore = -1}));
    EXPECT_GT(found[0], 1);
    EXPECT_EQ(found[1], 0);
    EXPECT_EQ(found[2], 0);
  }
  const Var slope = grad(sum(cross_entropy(logits, labels, {.ignore = -1})), logits);
  EXPECT_THAT(run(slope), testing::ElementsAre(testing::Lt(0), testing::Gt(0), 0, 0, 0, 0));
}

TEST_F(Losses, LargeLogitsStayFinite) {
  const Var logits = numbers({2, 2}, {1000, -1000, -1000, 1000});
  EXPECT_THAT(run(cross_entropy(logits, integers({2}, {0, 0}))), testing::ElementsAre(0, 2000));
  EXPECT_THAT(run(binary_cross_entropy(logits, numbers({2, 2}, {1, 0, 1, 0}))),
              testing::ElementsAre(0, 0, 1000, 1000));
}

TEST_F(Losses, MseAveragesPerExample) {
  const Var a = numbers({2, 2}, {1, 2, 3, 4}), b = numbers({2, 2}, {1, 0, 0, 0});
  EXPECT_THAT(run(mse(a, b)), testing::ElementsAre(2, 12.5));
  EXPECT_THAT(run(mse(numbers({2}, {1, 2}), integers({2}, {4, 4}))), testing::ElementsAre(9, 4));
}

// The same sets, as multi-hot rows and as CSR; the last is empty.
TEST_F(Losses, SetsOfLabelsInBothFormsAgree) {
  const Var logits = numbers({3, 3}, {0.5, -1, 2, 3, 0, 1, 1, 2, 3});
  const LabelSets hot{.multi_hot = integers({3, 3}, {1, 0, 1, 0, 1, 0, 0, 0, 0})};
  const LabelSets rows{.labels = integers({3}, {0, 2, 1}),
                       .row_starts = integers({4}, {0, 2, 3, 3})};
  for (const auto loss : {multi_label_softmax, multi_label_binary}) {
    const Var a = loss(logits, hot, Place::current()), b = loss(logits, rows, Place::current());
    EXPECT_THAT(run(a), testing::Pointwise(testing::DoubleNear(1e-14), run(b)));
    EXPECT_THAT(run(grad(sum(a), logits)),
                testing::Pointwise(testing::DoubleNear(1e-14), run(grad(sum(b), logits))));
  }
  EXPECT_EQ(run(multi_label_softmax(logits, rows))[2], 0);
  const double total = std::exp(0.5) + std::exp(-1) + std::exp(2);
  EXPECT_NEAR(run(multi_label_softmax(logits, rows))[0], std::log(total) - 1.25, 1e-14);
}

TEST_F(Losses, HaveTheGradientsOfFiniteDifferences) {
  const auto labels = [](Graph& g) {
    return constant(g, Tensor::of<std::int64_t>({4}, {2, 0, 1, 7}));
  };
  expect_gradients(
      [&](Graph& g, const std::vector<Var>& in) {
        return cross_entropy(in[0], labels(g),
                             {.label_smoothing = 0.1, .ignore = 7, .weights = in[1]});
      },
      {random_values({4, 3}, 1), random_values({3}, 2, 0.5, 2)});
  expect_gradients([](Graph&, const std::vector<Var>& in) { return mse(in[0], in[1]); },
                   {random_values({3, 2, 2}, 3), random_values({3, 2, 2}, 4)});
  expect_gradients(
      [](Graph&, const std::vector<Var>& in) { return binary_cross_entropy(in[0], in[1]); },
      {random_values({3, 2}, 5), random_values({3, 2}, 6, 0, 1)});
}

TEST_F(Losses, CorrectCountsLabelsAmongTheLargest) {
  const Var logits = numbers({3, 4}, {1, 4, 3, 2, 5, 5, 0, 0, 0, 1, 2, 3});
  const Var labels = integers({3}, {2, 1, 0});
  EXPECT_EQ(run(correct(logits, labels))[0], 0);
  EXPECT_EQ(run(correct(logits, labels, 2))[0], 2);
  EXPECT_EQ(run(correct(logits, labels, 4))[0], 3);
  EXPECT_EQ(run(zero_one(logits, integers({3}, {1, 0, 0}))), (Doubles{0, 0, 1}));
  EXPECT_EQ(zero_one(cast(logits, bf16), labels).dtype(), f32);
}

TEST_F(Losses, AreComputedInF32AtLeast) {
  const Var logits = graph.input("x", bf16, {"n", 3}), labels = graph.input("y", i64, {"n"});
  EXPECT_EQ(cross_entropy(logits, labels).dtype(), f32);
  EXPECT_EQ(mse(logits, logits).dtype(), f32);
  EXPECT_EQ(binary_cross_entropy(logits, logits).dtype(), f32);
  EXPECT_EQ(multi_label_softmax(logits, {.multi_hot = logits}).dtype(), f32);
  EXPECT_EQ(multi_label_binary(logits, {.multi_hot = logits}).dtype(), f32);
}

TEST_F(Losses, RefuseWhatDoesNotFit) {
  const Var x = graph.input("x", f32, {"n", 3}), y = graph.input("y", i64, {"n"});
  const Var two = graph.input("two", f32, {"n", 2}), ids = graph.input("ids", i64, {"n", 3});
  expect_error<InvalidArgument>("cross_entropy: there are no logits",
                                [&] { cross_entropy(Var(), y); });
  expect_error<TypeError>("cross_entropy: logits must be floating-point, not i64",
                          [&] { cross_entropy(ids, y); });
  expect_error<TypeError>("cross_entropy: labels must be i32 or i64, not f32",
                          [&] { cross_entropy(x, x); });
  expect_error<InvalidArgument>("cross_entropy: label_smoothing must be within [0, 1), got 1",
                                [&] { cross_entropy(x, y, {.label_smoothing = 1}); });
  expect_error<ShapeError>("cross_entropy: weights must be [classes], got [n, 3]",
                           [&] { cross_entropy(x, y, {.weights = x}); });
  expect_error<ShapeError>("mse: the shapes differ, [n, 3] and [n, 2]", [&] { mse(x, two); });
  expect_error<InvalidArgument>("mse: there is no target", [&] { mse(x, Var()); });
  expect_error<InvalidArgument>("mse: there are no predictions", [&] { mse(Var(), x); });
  expect_error<ShapeError>("binary_cross_entropy: the shapes differ, [n, 3] and [n, 2]",
                           [&] { binary_cross_entropy(x, two); });
  expect_error<InvalidArgument>("binary_cross_entropy: there are no targets",
                                [&] { binary_cross_entropy(x, Var()); });
  expect_error<InvalidArgument>("multi_label_softmax: there are no labels",
                                [&] { multi_label_softmax(x, {}); });
  expect_error<InvalidArgument>("multi_label_binary: there are no row_starts",
                                [&] { multi_label_binary(x, {.labels = y}); });
  expect_error<InvalidArgument>(
      "multi_label_softmax: give either multi_hot or labels with row_starts",
      [&] { multi_label_softmax(x, {.multi_hot = x, .labels = y}); });
  expect_error<ShapeError>(
      "multi_label_binary: labels and row_starts must have one axis, their shapes are [n, 3] and "
      "[n]",
      [&] { multi_label_binary(x, {.labels = ids, .row_starts = y}); });
  expect_error<ShapeError>(
      "multi_label_softmax: logits must be [examples, classes], their shape is [3]",
      [&] { multi_label_softmax(graph.input("v", f32, {3}), {.multi_hot = x}); });
  expect_error<ShapeError>("is_correct: logits [n, 3] and labels [n, 3] do not fit",
                           [&] { correct(x, ids); });
  expect_error<InvalidArgument>("is_correct: k must be above 0, got 0", [&] { correct(x, y, 0); });
}

}  // namespace antichain::nn::losses_test
