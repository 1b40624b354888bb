// Multigrid converges to what the steps give one after the other, forward and back.
#include <gtest/gtest.h>

#include "tests/engines/multigrid/chains.h"

namespace antichain::multigrid_test::convergence_test {

constexpr double kRounding = 1e-12;

// The errors of values and gradients after each number of cycles.
struct Errors {
  std::vector<double> values, gradients;
};
Errors errors(const Model& model, std::vector<EngineOption> options, std::int64_t most_cycles,
              bool reverse = false) {
  const Outcome exact = run(model, {.reverse = reverse});
  Errors found;
  for (std::int64_t cycles = 1; cycles <= most_cycles; ++cycles) {
    std::vector<EngineOption> all = options;
    all.emplace_back("cycles", cycles);
    const Outcome outcome = run(model, {.engine = multigrid(all), .reverse = reverse});
    found.values.push_back(error(outcome.values, exact.values));
    found.gradients.push_back(error(outcome.gradients, exact.gradients));
  }
  return found;
}

void expect_falling(const std::vector<double>& errors) {
  for (std::size_t i = 1; i < errors.size(); ++i) {
    EXPECT_LT(errors[i], std::max(errors[i - 1], kRounding)) << "cycle " << i + 1;
  }
}

TEST(MultigridConvergence, ErrorFallsEveryCycle) {
  for (const char* coarse : {"matched", "plain"}) {
    const Errors found = errors(residual_net(64), {{"coarsening", 8}, {"coarse", coarse}}, 7);
    expect_falling(found.values);
    expect_falling(found.gradients);
  }
}

TEST(MultigridConvergence, ExactWhenThereAreAsManyCyclesAsIntervals) {
  for (const bool reverse : {false, true}) {
    for (const std::int64_t layers : {16, 17, 18, 19}) {
      const Errors found =
          errors(residual_net(layers), {{"coarsening", 4}, {"guess", "zero"}}, 4, reverse);
      EXPECT_LT(found.values.back(), kRounding);
      EXPECT_LT(found.gradients.back(), kRounding);
      EXPECT_GT(found.gradients.front(), 1e-9);
    }
  }
}

}  // namespace antichain::multigrid_test::convergence_test
