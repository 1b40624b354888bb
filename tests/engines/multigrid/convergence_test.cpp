// Multigrid converges to what the steps give one after the other, forward and back.
#include <gtest/gtest.h>

#include <string>

#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "tests/engines/multigrid/chains.h"

namespace antichain::multigrid_test::convergence_test {

constexpr double kRounding = 1e-12;

struct Errors {  // after 1, 2, … cycles
  std::vector<double> values, gradients;
};
Errors errors(const Model& model, const std::vector<EngineOption>& options,
              std::int64_t most_cycles, bool reverse = false) {
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

double gradient_error(const Model& model, const std::vector<EngineOption>& options) {
  return errors(model, options, 1).gradients[0];
}

void expect_falling(const std::vector<double>& errors) {
  for (std::size_t i = 1; i < errors.size(); ++i) {
    EXPECT_LT(errors[i], std::max(errors[i - 1], kRounding)) << "cycle " << i + 1;
  }
}

TEST(MultigridConvergence, ErrorFallsEveryCycle) {
  for (const char* coarse : {"matched", "matched3", "plain"}) {
    const Errors found = errors(residual_net(64), {{"coarsening", 8}, {"coarse", coarse}}, 6);
    expect_falling(found.values);
    expect_falling(found.gradients);
  }
}

// Whatever the first guess and the coarse step are.
TEST(MultigridConvergence, IsExactAfterAsManyCyclesAsThereAreIntervals) {
  for (const bool reverse : {false, true}) {
    for (const std::int64_t layers : {16, 17, 18, 19}) {
      for (const char* coarse : {"plain", "same"}) {
        const Errors found =
            errors(residual_net(layers), {{"coarsening", 4}, {"guess", "zero"}, {"coarse", coarse}},
                   4, reverse);
        EXPECT_LT(found.values.back(), kRounding);
        EXPECT_LT(found.gradients.back(), kRounding);
        EXPECT_GT(found.gradients.front(), 1e-6);
      }
    }
  }
}

TEST(MultigridConvergence, MatchedStepsAreBetterThanPlainOnes) {
  const auto error_of = [](const Model& model, std::int64_t m, const char* coarse) {
    return gradient_error(model, {{"coarsening", m}, {"coarse", coarse}});
  };
  for (const std::int64_t m : {4, 8}) {
    // Weights that change at random from layer to layer are no function that steps could follow.
    EXPECT_LT(error_of(residual_net(64), m, "matched"),
              0.2 * error_of(residual_net(64), m, "plain"));
    EXPECT_EQ(error_of(residual_net(64), m, "matched"), error_of(residual_net(64), m, "auto"));
    EXPECT_LT(error_of(shared_net(64), m, "matched"), 0.1 * error_of(shared_net(64), m, "plain"));
    EXPECT_LT(error_of(shared_net(64), m, "matched3"),
              0.2 * error_of(shared_net(64), m, "matched"));
  }
}

TEST(MultigridConvergence, OnThreeGridsAndMore) {
  const Model model = residual_net(50);
  for (const std::int64_t levels : {3, 5}) {
    for (const char* cycle : {"V", "F"}) {
      const std::vector<EngineOption> options = {
          {"levels", levels}, {"coarsening", 2}, {"cycle", cycle}};
      const Errors found = errors(model, options, 5);
      expect_falling(found.gradients);
      EXPECT_LT(found.gradients.back(), 1e-6) << levels << cycle;
    }
  }
  const auto error_of = [&](const char* cycle) {
    return gradient_error(model, {{"levels", 4}, {"coarsening", 2}, {"cycle", cycle}});
  };
  EXPECT_LT(error_of("F"), error_of("V"));
}

TEST(MultigridConvergence, RelaxingToTheEndsOfIntervalsHelps) {
  const Model model = shared_net(64);
  const double f = gradient_error(model, {{"coarse", "plain"}});
  EXPECT_LT(gradient_error(model, {{"coarse", "plain"}, {"relaxations", 1}}), f);
  const std::vector<EngineOption> three = {{"levels", 3}, {"coarsening", 3}, {"coarse", "plain"}};
  std::vector<EngineOption> fcf = three;
  fcf.emplace_back("coarse_relaxations", 1);
  EXPECT_LT(gradient_error(model, fcf), gradient_error(model, three));
}

TEST(MultigridConvergence, ASolveOnCoarseGridsIsTheBestGuess) {
  const auto error_of = [](const char* guess) {
    return gradient_error(residual_net(64), {{"guess", guess}});
  };
  EXPECT_LT(error_of("coarse"), error_of("first"));
  EXPECT_LT(error_of("first"), error_of("zero"));
}

TEST(MultigridConvergence, TheAdjointHasCyclesOfItsOwn) {
  const Model model = residual_net(64);
  const Outcome exact = run(model, {}), few = run(model, {.engine = multigrid({{"cycles", 1}})}),
                more = run(model, {.engine = multigrid({{"cycles", 1}, {"backward_cycles", 8}})}),
                all = run(model, {.engine = multigrid({{"cycles", 8}, {"backward_cycles", 1}})});
  EXPECT_EQ(error(more.values, few.values), 0);
  EXPECT_LT(error(more.gradients, exact.gradients), error(few.gradients, exact.gradients));
  EXPECT_LT(error(all.values, exact.values), kRounding);
  EXPECT_GT(error(all.gradients, exact.gradients), kRounding);
}

TEST(MultigridConvergence, AToleranceEndsTheCycles) {
  const Model model = residual_net(64);
  const Outcome exact = run(model, {});
  double last = 1;
  for (const char* tolerance : {"1e-2", "1e-4", "1e-10"}) {
    const Outcome found =
        run(model, {.engine = multigrid({{"cycles", 50}, {"tolerance", tolerance}})});
    const double now = error(found.gradients, exact.gradients);
    EXPECT_LT(now, 10 * std::stod(tolerance));
    EXPECT_LT(now, last);
    last = now;
  }
}

// Chains that are too short run step by step.
TEST(MultigridConvergence, ShortChains) {
  for (const std::int64_t layers : {0, 1, 2, 3, 4, 5}) {
    const Model model = residual_net(layers);
    const Outcome got = run(model, {.engine = multigrid({{"coarsening", 4}, {"cycles", 3}})});
    const Outcome want = run(model, {});
    if (layers > 0) {
      EXPECT_LT(error(got.values, want.values), kRounding) << layers;
    }
    EXPECT_LT(error(got.gradients, want.gradients), kRounding) << layers;
  }
}

TEST(MultigridConvergence, RescaledStepsOfAnImplicitGru) {
  for (const bool reverse : {false, true}) {
    const Errors found = errors(implicit_gru(40), {{"coarsening", 4}}, 5, reverse);
    expect_falling(found.values);
    expect_falling(found.gradients);
    EXPECT_LT(found.gradients[4], 1e-5);
  }
  const auto error_of = [](const char* coarse) {
    return gradient_error(implicit_gru(40), {{"coarsening", 4}, {"coarse", coarse}});
  };
  EXPECT_EQ(error_of("auto"), error_of("rescaled2"));
  EXPECT_LT(error_of("rescaled2"), 0.5 * error_of("rescaled"));
  EXPECT_LT(error_of("rescaled"), error_of("same"));
}

// Two steps of half the stride of 2 are the two steps that are meant.
TEST(MultigridConvergence, RescaledStepsOfTwoAreExactForEqualInputs) {
  const Model model = {{{2, 3}}, [](const Vars& in, ChainOptions options) {
                         options.length = 24;
                         const auto step = [&](Var, const Vars& s, const Vars&) -> StepResult {
                           const Var h = 0.2 * grid_stride(in[0].graph(), in[0].dtype());
                           return {{s[0] / (1 + h * square(s[0]))}};
                         };
                         return chain({in[0]}, {}, step, options);
                       }};
  const Errors found = errors(model, {{"coarsening", 2}}, 1);
  EXPECT_LT(found.values[0], kRounding);
  EXPECT_LT(found.gradients[0], 1e-3);
}

}  // namespace antichain::multigrid_test::convergence_test
