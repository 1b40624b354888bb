// The error that is reported, against the one that is made.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/graph/state_store.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/noise_site.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

struct Errors {
  double reported, made;  // relative to the length of what is estimated, over many runs
};

// Losses that are linear, or curved, in a value that is a parameter itself: 4 examples, 10 numbers.
Errors errors_of(const std::string& options, double curvature = 0) {
  constexpr std::int64_t kExamples = 4, kWidth = 10;
  constexpr int kRuns = 300;
  Session session({.seed = 7});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse("likelihood:" + options));
  Numbers slopes, start;
  for (int i = 0; i < kExamples * kWidth; ++i) {
    slopes.push_back(std::cos(i * i));
    start.push_back(std::sin(3 * i));
  }
  const auto as_constant = [&](const Numbers& values) {
    return constant(graph, Tensor::of<double>({kExamples, kWidth}, values));
  };
  const Var w = parameter("w", as_constant(start));
  const Var losses = sum(noise_site(w) * as_constant(slopes), {1}) +
                     curvature * square(sum(noise_site(w), {1}) - 1);
  const auto gradient = [&](const char* engine) {
    return grad(sum(losses), std::vector<Var>{w}, {.engine = EngineChoice(engine), .at = {losses}});
  };
  const Executable exact = session.compile(gradient("backprop"));
  const Executable run = session.compile(grad(sum(losses), std::vector<Var>{w}, {.at = {losses}}));
  const Numbers want = exact({}).tensors()[0].to_vector<double>();
  double reported = 0, made = 0, size = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Numbers got = run({}).tensors()[0].to_vector<double>();
    double length = 0;
    for (std::size_t n = 0; n < got.size(); ++n) {
      made += (got[n] - want[n]) * (got[n] - want[n]);
      length += got[n] * got[n];
    }
    const double relative =
        session.states().get(std::string(kReportPrefix) + "standard_error").item<double>();
    reported += relative * relative * length;
    size += length;
  }
  return {std::sqrt(reported / size), std::sqrt(made / size)};
}

TEST(LikelihoodStandardError, IsTheErrorThatIsMade) {
  for (const char* options :
       {"copies=8", "copies=12", "copies=5", "copies=24,antithetic=yes", "copies=4,at_once=2",
        "mode=weights,copies=24", "mode=weights,copies=16", "mode=forward,copies=24",
        "copies=12,noise=gaussian", "copies=12,noise=rademacher"}) {
    const Errors found = errors_of(options);
    EXPECT_GT(found.made, 0.1) << options;
    EXPECT_NEAR(found.reported, found.made, 0.15 * found.made) << options;
  }
}

TEST(LikelihoodStandardError, IsNoneWhereNoneIsMade) {
  for (const char* options : {"copies=16", "copies=32", "mode=weights,copies=64"}) {
    const Errors found = errors_of(options);
    EXPECT_LT(found.made, 1e-6) << options;
    EXPECT_LT(found.reported, 1e-6) << options;
  }
}

// With rows to spare, curved losses show as what the estimate does not explain.
TEST(LikelihoodStandardError, OfCurvedLosses) {
  const Errors found = errors_of("copies=32,sigma=0.3", 1);
  EXPECT_GT(found.made, 0.02);
  EXPECT_GT(found.reported, found.made / 3);
  EXPECT_LT(found.reported, found.made * 3);
}

}  // namespace antichain::likelihood_tests
