#include "antichain/nn/sampled_softmax.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "antichain/ops/products/matmul.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/step_options.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::sampled_softmax_test {

using Doubles = std::vector<double>;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kClasses = 9, kFeatures = 4;
const Numbers kLabels = {3, 0, 7, 1, 2}, kStarts = {0, 2, 2, 3, 5};  // the second has none

Var integers(Graph& graph, const Numbers& values) {
  return constant(graph, Tensor::of<std::int64_t>({std::ssize(values)}, values));
}
LabelSets truth_in(Graph& graph) {
  return {.labels = integers(graph, kLabels), .row_starts = integers(graph, kStarts)};
}
Negatives negatives_in(Graph& graph, const Numbers& labels, const Doubles& log_expected) {
  return {integers(graph, labels),
          constant(graph, Tensor::of<double>({std::ssize(log_expected)}, log_expected))};
}

// Parameters of any size, so that the largest term differs from row to row.
Initialiser drawn(double size) {
  return [size](Graph& graph, DType dtype, const Dims& shape) {
    return normal(0, size)(graph, dtype, shape);
  };
}

TEST(SampledSoftmax, OfAllLabelsIsTheFullSoftmax) {
  for (const double size : {0.1, 100.0}) {
    Session session;
    Graph graph = session.graph();
    const Tensor x = random_values({4, kFeatures}, 7);
    Numbers all(kClasses);
    std::iota(all.begin(), all.end(), 0);
    const Var sampled =
        sampled_softmax(constant(graph, x), kClasses, truth_in(graph),
                        negatives_in(graph, all, Doubles(kClasses, 0)), {.weight = drawn(size)});
    const std::vector<Var> own = parameters(graph);
    const Var logits = matmul(constant(graph, x), transpose(own[0])) + own[1];
    const Var full = multi_label_softmax(logits, truth_in(graph));
    std::vector<Var> outputs = {sampled, full};
    for (const Var loss : {sampled, full}) {
      for (const Var slope : grad(sum(loss), own)) {
        outputs.push_back(slope);
      }
    }
    const Results found = session.compile(outputs)({});
    for (const auto& [a, b] : {std::pair(0, 1), std::pair(2, 4), std::pair(3, 5)}) {
      const Doubles left = found[static_cast<std::size_t>(a)].to_vector<double>(),
                    right = found[static_cast<std::size_t>(b)].to_vector<double>();
      ASSERT_EQ(left.size(), right.size());
      for (std::size_t i = 0; i < left.size(); ++i) {
        EXPECT_NEAR(left[i], right[i], 1e-9 * std::max(1.0, std::abs(right[i]))) << a << " " << i;
      }
    }
  }
}

// Draws that are true labels of an example do not count for it, those that come twice count twice.
TEST(SampledSoftmax, OfPlainLoops) {
  Session session;
  Graph graph = session.graph();
  const Tensor x = random_values({4, kFeatures}, 7);
  const Numbers drawn_labels = {0, 5, 5, 7, 8, 3};
  const Doubles log_expected = {0.3, -1, -1, 0.5, 2, 0.1};
  const Var losses =
      sampled_softmax(constant(graph, x), kClasses, truth_in(graph),
                      negatives_in(graph, drawn_labels, log_expected), {.weight = drawn(1)});
  const Results found = session.compile({losses})({});
  const Tensor weight = session.states().get("sampled_softmax.weight");
  const auto logit = [&](std::int64_t example, std::int64_t label) {
    double total = 0;
    for (std::int64_t j = 0; j < kFeatures; ++j) {
      total +=
          x.data<double>()[example * kFeatures + j] * weight.data<double>()[label * kFeatures + j];
    }
    return total;
  };
  for (std::int64_t example = 0; example < 4; ++example) {
    const auto at = static_cast<std::size_t>(example);
    const Numbers own(kLabels.begin() + kStarts[at], kLabels.begin() + kStarts[at + 1]);
    double total = 0, mean = 0;
    for (const std::int64_t label : own) {
      total += std::exp(logit(example, label));
      mean += logit(example, label) / static_cast<double>(own.size());
    }
    for (std::size_t i = 0; i < drawn_labels.size(); ++i) {
      const bool is_own = std::ranges::find(own, drawn_labels[i]) != own.end();
      total += is_own ? 0 : std::exp(logit(example, drawn_labels[i]) - log_expected[i]);
    }
    EXPECT_NEAR(found[0].to_vector<double>()[at], own.empty() ? 0 : std::log(total) - mean, 1e-9);
  }
}

TEST(SampledSoftmax, Gradients) {
  expect_layer_gradients(
      [](Graph& graph, const std::vector<Var>& in) {
        return sampled_softmax(in[0], kClasses, truth_in(graph),
                               negatives_in(graph, {0, 5, 5, 8}, {0.3, -1, -1, 2}),
                               {.weight = drawn(1)});
      },
      {random_values({4, kFeatures}, 11)});
}

// How often labels are drawn is what log_expected says.
TEST(SampledSoftmax, DrawsAsOftenAsItSays) {
  const Doubles weights = {1, 7, 0.5, 3, 3, 12, 0.01, 2, 1};
  constexpr std::int64_t kCount = 50'000;
  for (const bool uniform : {true, false}) {
    Session session;
    Graph graph = session.graph();
    const Negatives drawn_labels =
        uniform ? draw_uniformly(graph, kClasses, kCount) : draw_by_weight(graph, weights, kCount);
    const Executable run = session.compile({drawn_labels.labels, drawn_labels.log_expected});
    const Results found = run({}), again = run({});
    EXPECT_NE(found[0].to_vector<std::int64_t>(), again[0].to_vector<std::int64_t>());
    const Numbers labels = found[0].to_vector<std::int64_t>();
    const Doubles expected = found[1].to_vector<double>();
    ASSERT_EQ(std::ssize(labels), kCount);
    for (std::int64_t label = 0; label < kClasses; ++label) {
      const double q = uniform ? 1.0 / kClasses
                               : weights[static_cast<std::size_t>(label)] /
                                     std::accumulate(weights.begin(), weights.end(), 0.0);
      const auto count = static_cast<double>(std::ranges::count(labels, label));
      // Five standard deviations of a binomial distribution.
      EXPECT_NEAR(count, q * kCount, 5 * std::sqrt(kCount * q * (1 - q)) + 1) << label;
    }
    for (std::size_t i = 0; i < 100; ++i) {
      const double q = uniform ? 1.0 / kClasses
                               : weights[static_cast<std::size_t>(labels[i])] /
                                     std::accumulate(weights.begin(), weights.end(), 0.0);
      EXPECT_NEAR(expected[i], std::log(kCount * q), 1e-5);
    }
  }
}

// The estimate of the sum over all labels is right on average.
TEST(SampledSoftmax, IsUnbiasedBeforeTheLogarithm) {
  Session session;
  Graph graph = session.graph();
  const Tensor x = random_values({4, kFeatures}, 7);
  const Doubles weights = {1, 7, 0.5, 3, 3, 12, 0.5, 2, 1};
  const Var losses = sampled_softmax(constant(graph, x), kClasses, truth_in(graph),
                                     draw_by_weight(graph, weights, 3), {.weight = drawn(1)});
  const std::vector<Var> own = parameters(graph);
  const Var full =
      multi_label_softmax(matmul(constant(graph, x), transpose(own[0])) + own[1], truth_in(graph));
  const Executable run = session.compile({losses, full});
  constexpr int kRuns = 4000;
  Doubles total(4), squares(4), exact;
  for (int i = 0; i < kRuns; ++i) {
    const Results found = run({});
    const Doubles values = found[0].to_vector<double>();
    exact = found[1].to_vector<double>();
    for (std::size_t n = 0; n < total.size(); ++n) {
      total[n] += std::exp(values[n]) / kRuns;
      squares[n] += std::exp(2 * values[n]) / kRuns;
    }
  }
  for (const std::size_t n : {0, 2, 3}) {
    const double error = std::sqrt((squares[n] - total[n] * total[n]) / kRuns);
    EXPECT_NEAR(total[n], std::exp(exact[n]), 5 * error);
    EXPECT_LT(error, 0.05 * total[n]);
  }
}

TEST(SampledSoftmax, HasLazyRows) {
  Session session;
  Graph graph = session.graph();
  const Var x = constant(graph, random_values({4, kFeatures}, 7));
  const Var loss = mean(sampled_softmax(x, kClasses, truth_in(graph), negatives_in(graph, {5}, {0}),
                                        {.weight = drawn(1)}));
  const Executable step = session.compile(
      {loss}, {.updates = optim::adam(loss, {.step = {.lazy_rows = optim::looked_up()}})});
  const Tensor before = session.states().get("sampled_softmax.weight").clone();
  step({});
  const Tensor after = session.states().get("sampled_softmax.weight");
  for (std::int64_t label = 0; label < kClasses; ++label) {
    const bool used = label == 5 || std::ranges::find(kLabels, label) != kLabels.end();
    const auto same = [&](std::int64_t i) {
      return before.data<double>()[label * kFeatures + i] ==
             after.data<double>()[label * kFeatures + i];
    };
    EXPECT_EQ(same(0) && same(1) && same(2) && same(3), !used) << label;
  }
}

TEST(SampledSoftmax, SaysWhatIsWrong) {
  Graph graph;
  expect_error<InvalidArgument>(
      "draw_by_weight: a label that is never drawn cannot be corrected for, and its weight is 0",
      [&] {
        draw_by_weight(graph, {1, 0}, 3);
      });
  const Var x = graph.input("x", f32, {"n", 3});
  expect_error<InvalidArgument>("sampled_softmax: give labels with row_starts, not multi_hot", [&] {
    sampled_softmax(x, 5, {.multi_hot = x}, draw_uniformly(graph, 5, 2));
  });
}

}  // namespace antichain::nn::sampled_softmax_test
