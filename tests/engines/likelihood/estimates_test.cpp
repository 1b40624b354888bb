// What is estimated, how near it comes, and what it depends on.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

// Of second degree in the values of each layer, alike in all directions of the last one.
Perceptron quadratic() {
  return {.widths = {3, 3},
          .activation = [](Var x) { return 2 * x; },
          .losses = [](Var z, Var) { return sum(square(z) - z, {1}); }};
}

TEST(LikelihoodEstimates, OrthogonalNoiseWithCopiesAsTheWidthIsExact) {
  const Numbers exact = gradients(quadratic(), "backprop")[0];
  // Widths of 3 with a row of signs more.
  for (const char* engine :
       {"likelihood:mode=mixed,copies=4,sigma=0.7,cut=layer_1",
        "likelihood:mode=layer,copies=8,sigma=0.7,antithetic=yes,last=estimated",
        "likelihood:mode=full,copies=16,sigma=0.7,antithetic=yes,last=estimated"}) {
    EXPECT_LT(relative_error(gradients(quadratic(), engine)[0], exact), 1e-12) << engine;
  }
}

TEST(LikelihoodEstimates, MeanOfSeedsIsTheGradientForSmallNoise) {
  const Perceptron model;
  const Numbers exact = gradients(model, "backprop")[0];
  for (const char* mode : {"mixed,cut=layer_0", "mixed,cuts=2", "layer", "full",
                           "layer,last=estimated", "full,last=estimated,inactive=noisy"}) {
    for (const char* noise : {"hadamard", "rademacher", "gaussian", "laplace"}) {
      SCOPED_TRACE(std::string(mode) + " " + noise);
      const std::string engine =
          fmt::format("likelihood:mode={},noise={},copies=8,sigma=0.003", mode, noise);
      constexpr int kRuns = 400;
      const std::vector<Numbers> runs = gradients(model, engine, kRuns);
      const Numbers mean = mean_of(runs);
      double error = 0, variance = 0;
      for (std::size_t i = 0; i < mean.size(); ++i) {
        error += (mean[i] - exact[i]) * (mean[i] - exact[i]);
        for (const Numbers& run : runs) {
          variance += (run[i] - mean[i]) * (run[i] - mean[i]) / kRuns / kRuns;
        }
      }
      EXPECT_LT(error, 2.5 * variance + 1e-8);
    }
  }
}

// One weight, one example, a threshold: the gradient of the smoothed loss is the normal density.
TEST(LikelihoodEstimates, ThresholdsHaveTheGradientOfTheSmoothedLoss) {
  const Perceptron model{.examples = 1, .features = 1, .widths = {1}, .losses = [](Var z, Var) {
                           return sum(cast(greater(z, 0), z.dtype()), {1});
                         }};
  const double sigma = 0.8;
  constexpr int kRuns = 300;
  const std::vector<Numbers> runs =
      gradients(model, "likelihood:noise=gaussian,sigma=0.8,copies=1000", kRuns);
  // z and x follow from the gradients by weight and bias of another loss.
  const Perceptron value{.examples = 1, .features = 1, .widths = {1}, .losses = [](Var z, Var) {
                           return sum(square(z) * 0.5, {1});
                         }};
  const double z = gradients(value, "backprop")[0][1];
  const double density =
      std::exp(-z * z / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * 3.14159265358979));
  const double bias = mean_of(runs)[1];
  double variance = 0;
  for (const Numbers& run : runs) {
    variance += (run[1] - bias) * (run[1] - bias) / kRuns;
  }
  EXPECT_NEAR(bias, density, 4 * std::sqrt(variance / kRuns));
  EXPECT_LT(std::sqrt(variance / kRuns), 0.05 * density);
}

// Noise on weights: the same gradient, with more variance.
TEST(LikelihoodEstimates, WeightsAndDirectionsAgreeOnAverage) {
  const Perceptron model;
  const Numbers exact = gradients(model, "backprop")[0];
  for (const char* mode : {"weights,noise=gaussian", "weights,noise=rademacher,antithetic=yes",
                           "weights,baseline=leave-one-out,noise=laplace", "forward",
                           "forward,noise=gaussian,at_once=16"}) {
    const std::vector<Numbers> runs =
        gradients(model, fmt::format("likelihood:sigma=0.003,copies=64,mode={}", mode), 100);
    EXPECT_GT(cosine(mean_of(runs), exact), 0.97) << mode;
    EXPECT_LT(cosine(runs[0], exact), 0.97) << mode;
  }
  EXPECT_LT(relative_error(gradients(model, "likelihood:mode=forward,copies=128")[0], exact), 1e-12)
      << "orthogonal directions, more than there are parameters";
}

TEST(LikelihoodEstimates, AnySplitOfTheCopiesHasTheSameBits) {
  for (const DType dtype : {f32, f64}) {
    const Perceptron model{.examples = 24,
                           .features = 20,
                           .widths = {48, 33, 4},
                           .activation = [](Var x) { return relu(x); },
                           .dtype = dtype};
    for (const char* settings :
         {"mode=layer", "mode=full", "mode=full,noise=gaussian", "mode=layer,noise=rademacher",
          "mode=full,noise=laplace,baseline=leave-one-out", "mode=layer,antithetic=yes,keep=yes",
          "mode=full,noise=gaussian,antithetic=yes", "mode=layer,feedback=yes,noise=gaussian",
          "mode=weights,antithetic=yes", "mode=weights,noise=gaussian", "mode=forward"}) {
      const std::string engine = fmt::format("likelihood:copies=16,{}", settings);
      const auto of_split = [&](int at_once) {
        return gradients(model, fmt::format("{},at_once={}", engine, at_once), 2);
      };
      const auto whole = of_split(16);
      for (const int at_once : {2, 4, 8}) {
        EXPECT_EQ(of_split(at_once), whole) << engine << " " << at_once << " " << name(dtype);
      }
    }
  }
}

TEST(LikelihoodEstimates, SeedsAndRunsDiffer) {
  const std::vector<Numbers> runs = gradients(Perceptron{}, "likelihood:mode=layer", 2, 1);
  EXPECT_NE(runs[0], runs[1]);
  EXPECT_EQ(runs[0], gradients(Perceptron{}, "likelihood:mode=layer", 1, 1)[0]);
  EXPECT_NE(runs[0], gradients(Perceptron{}, "likelihood:mode=layer", 1, 2)[0]);
}

TEST(LikelihoodEstimates, ComeNearerWithCopies) {
  const Perceptron model{.examples = 20, .widths = {16, 16, 4}};
  const Numbers exact = gradients(model, "backprop")[0];
  for (const char* mode : {"layer", "full", "mixed,cut=layer_0"}) {
    double last = 0;
    for (const int copies : {2, 8, 32, 128}) {
      const double near = cosine(
          mean_of({gradients(
              model, fmt::format("likelihood:mode={},noise=gaussian,copies={}", mode, copies))[0]}),
          exact);
      EXPECT_GT(near, last) << mode << " " << copies;
      last = near;
    }
    EXPECT_GT(last, 0.9) << mode;
  }
}

// Everything between inputs and losses at once: no example may be credited with another's loss.
TEST(LikelihoodEstimates, FeedbackLearnsWithoutABias) {
  for (const char* mode : {"layer", "full", "layer,antithetic=yes", "full,noise=gaussian",
                           "mixed,cut=layer_0", "mixed,cut=layer_0+layer_1"}) {
    const Perceptron model{.examples = 24, .widths = {16, 16, 3}};
    const Numbers exact = gradients(model, "backprop")[0];
    const auto errors = [&](const char* feedback) {
      const std::vector<Numbers> runs = gradients(
          model, fmt::format("likelihood:copies=4,sigma=0.01,feedback={},mode={}", feedback, mode),
          200);
      const std::vector<Numbers> late(runs.begin() + 100, runs.end());
      double total = 0;
      for (const Numbers& run : late) {
        total += relative_error(run, exact) / 100;
      }
      EXPECT_LT(relative_error(mean_of(late), exact), 0.25 * total + 0.02) << mode;
      return total;
    };
    EXPECT_LT(errors("yes"), 0.7 * errors("no")) << mode;
  }
}

TEST(LikelihoodEstimates, MasksKeepTheVarianceDown) {
  const Perceptron model{.widths = {32, 3}, .activation = [](Var x) { return relu(x); }};
  const Numbers exact = gradients(model, "backprop")[0];
  const auto error = [&](const char* inactive) {
    double total = 0;
    for (const Numbers& run : gradients(
             model, fmt::format("likelihood:mode=layer,copies=8,sigma=0.001,inactive={}", inactive),
             50)) {
      total += relative_error(run, exact);
    }
    return total;
  };
  EXPECT_LT(error("masked"), 0.85 * error("noisy"));
}

}  // namespace antichain::likelihood_tests
