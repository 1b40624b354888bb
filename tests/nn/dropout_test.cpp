#include "antichain/nn/dropout.h"

#include <gmock/gmock.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::dropout_test {

constexpr int kCount = 20'000;

TEST(Dropout, DropsAtItsRateAndScalesTheRest) {
  constexpr double kRate = 0.3;
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"n"});
  const Var y = dropout(x, {.rate = kRate, .training = true});
  const Executable run = session.compile({y, grad(sum(y), x)});
  const Feeds feeds = {{"x", Tensor::full(f64, {kCount}, 2)}};
  const Results found = run(feeds);
  const std::vector<double> values = found[0].to_vector<double>();
  const std::vector<double> slopes = found[1].to_vector<double>();
  int dropped = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    dropped += values[i] == 0 ? 1 : 0;
    ASSERT_TRUE(values[i] == 0 || std::abs(values[i] - 2 / (1 - kRate)) < 1e-15);
    ASSERT_NEAR(slopes[i], values[i] / 2, 1e-15);  // zero exactly where the value was dropped
  }
  // Five standard deviations of a binomial distribution.
  EXPECT_NEAR(dropped, kRate * kCount, 5 * std::sqrt(kCount * kRate * (1 - kRate)));
  EXPECT_NE(run(feeds)[0].to_vector<double>(), values);
}

TEST(Dropout, IsNothingInEvaluation) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n"});
  EXPECT_EQ(dropout(x, {.rate = 0.9, .training = false}), x);
  EXPECT_EQ(dropout(x, {.rate = 0, .training = true}), x);
}

// The backward chain computes the body again: with the same draws.
TEST(Dropout, InsideAChainHasTheGradientOfItsOwnDraw) {
  Session session;
  Graph graph = session.graph();
  const Var h = graph.input("h", f64, {50}), xs = graph.input("xs", f64, {"time", 50});
  const Var last = chain(h, xs, [](Var state, Var x) {
                     return dropout(state + x, {.rate = 0.2, .training = true});
                   }).last;
  const Results found = session.compile({last, grad(sum(last), h)})(
      {{"h", Tensor::full(f64, {50}, 1)}, {"xs", Tensor::zeros(f64, {3, 50})}});
  EXPECT_EQ(found[0].to_vector<double>(), found[1].to_vector<double>());
  EXPECT_THAT(found[0].to_vector<double>(), testing::Contains(0));
}

TEST(Dropout, RefusesWhatDoesNotFit) {
  Graph graph;
  expect_error<InvalidArgument>("dropout: there is no x", [] { dropout(Var()); });
  expect_error<TypeError>("dropout: x must be floating-point, it is i64",
                          [&] { dropout(graph.input("ids", i64, {2})); });
  const Var x = graph.input("x", f32, {"n"});
  expect_error<InvalidArgument>("dropout: rate must be within [0, 1), got 1",
                                [&] { dropout(x, {.rate = 1}); });
  expect_error<InvalidArgument>("dropout: rate must be within [0, 1), got -0.5",
                                [&] { dropout(x, {.rate = -0.5}); });
}

// The probability of each element by a plain formula, found again in how often it is kept.
TEST(AdaptiveDropout, KeepsWhatIsActive) {
  constexpr double kShare = 0.3;
  constexpr int kRows = 20'000;
  const std::vector<double> row = {0, 1, 0.5, 4, 0, 0.25, 0, 0.1};  // 4: more than may be kept
  const double total = 5.85;
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"n", 8});
  const Var y = adaptive_dropout(x, {.share = kShare, .training = true});
  const Var mean_value = adaptive_dropout(x, {.share = kShare});
  const Executable run =
      session.compile({y, mean_value, grad(sum(y), x), grad(sum(mean_value), x)});
  std::vector<double> rows;
  for (int i = 0; i < kRows; ++i) {
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const Results found = run({{"x", Tensor::of<double>({kRows, 8}, rows)}});
  const std::vector<double> values = found[0].to_vector<double>();
  const std::vector<double> slopes = found[2].to_vector<double>();
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double p = std::min(1.0, kShare * 8 * row[j] / total);
    double kept = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      const double value = values[8 * i + j];
      ASSERT_TRUE(value == 0 || value == row[j]);
      kept += value != 0 ? 1 : 0;
      if (row[j] != 0) {
        ASSERT_EQ(slopes[8 * i + j], value != 0 ? 1 : 0);
      }
    }
    EXPECT_NEAR(kept, row[j] == 0 ? 0 : p * kRows, 5 * std::sqrt(kRows * p * (1 - p))) << j;
    EXPECT_NEAR(found[1].to_vector<double>()[j], p * row[j], 1e-12);
    EXPECT_NEAR(found[3].to_vector<double>()[j], p, 1e-12);  // p itself is not differentiated
  }
  const Results none = run({{"x", Tensor::zeros(f64, {1, 8})}});
  EXPECT_THAT(none[1].to_vector<double>(), testing::Each(0));
  EXPECT_THAT(none[3].to_vector<double>(), testing::Each(0));
  expect_error<InvalidArgument>("adaptive_dropout: the share must be within (0, 1], got 0",
                                [&] { adaptive_dropout(x, {.share = 0}); });
}

}  // namespace antichain::nn::dropout_test
