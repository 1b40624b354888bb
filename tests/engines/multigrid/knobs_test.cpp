// What can be set about cycles: relaxations of C-points and their weight, the last relaxation,
// tolerances, options of the adjoint alone, groups of intervals.
#include <gtest/gtest.h>

#include "antichain/backends/cpu/threads/parallel.h"
#include "tests/engines/multigrid/chains.h"
#include "tests/tensor/expect_error.h"

namespace antichain::multigrid_test::knobs_test {

constexpr double kRounding = 1e-12;

Outcome found(const Model& model, std::vector<EngineOption> options, bool reverse = false) {
  return run(model, {.engine = multigrid(std::move(options)), .reverse = reverse});
}

double value_error(const Model& model, std::vector<EngineOption> options) {
  return error(found(model, std::move(options)).values, run(model, {}).values);
}

TEST(MultigridKnobs, RelaxationsOfCPoints) {
  const Model model = shared_net(64);
  double last = value_error(model, {{"coarse", "plain"}, {"cycles", 1}});
  for (const int relaxations : {1, 2, 3}) {
    const double now =
        value_error(model, {{"coarse", "plain"}, {"cycles", 1}, {"relaxations", relaxations}});
    EXPECT_LT(now, last) << relaxations;
    last = now;
  }
  // Each makes one interval more exact: the 8 intervals are after 1 cycle with 6, or with 5 and one
  // in the end.
  EXPECT_LT(value_error(model, {{"guess", "zero"}, {"cycles", 1}, {"relaxations", 6}}), kRounding);
  EXPECT_GT(value_error(model, {{"guess", "zero"}, {"cycles", 1}, {"relaxations", 5}}), kRounding);
  EXPECT_LT(
      value_error(
          model,
          {{"guess", "zero"}, {"cycles", 1}, {"relaxations", 5}, {"final_relaxation", "FCF"}}),
      kRounding);
}

TEST(MultigridKnobs, WeightOfARelaxation) {
  const Model model = shared_net(64);
  const auto with = [&](double weight) {
    return found(
        model,
        {{"coarse", "plain"}, {"cycles", 1}, {"relaxations", 1}, {"relaxation_weight", weight}});
  };
  const std::vector<Tensor> plain = with(1).values;
  // A small weight is nearly no relaxation, and the way from none to a whole one is continuous.
  const std::vector<Tensor> none = found(model, {{"coarse", "plain"}, {"cycles", 1}}).values;
  EXPECT_LT(error(with(0.01).values, none), 0.05 * error(plain, none));
  EXPECT_GT(error(with(0.5).values, plain), 0);
  EXPECT_LT(error(with(0.5).values, plain), error(none, plain));
  EXPECT_LT(value_error(model, {{"cycles", 30}, {"relaxations", 1}, {"relaxation_weight", 1.3}}),
            1e-9);
  expect_error<InvalidArgument>(
      "engine 'multigrid': relaxation_weight=1.5 is for relaxations of C-points: set relaxations "
      "or "
      "coarse_relaxations",
      [&] {
        found(model, {{"relaxation_weight", 1.5}});
      });
}

TEST(MultigridKnobs, AnAbsoluteTolerance) {
  const Model model = residual_net(64);
  double last = 1;
  for (const char* tolerance : {"1e-1", "1e-4", "1e-9"}) {
    const double now = value_error(model, {{"cycles", 50}, {"absolute_tolerance", tolerance}});
    EXPECT_LT(now, std::stod(tolerance));
    EXPECT_LT(now, last);
    last = now;
  }
  EXPECT_GT(last, 0);
}

TEST(MultigridKnobs, TheAdjointHasItsOwnCoarseGrids) {
  const Model model = residual_net(64);
  const std::vector<EngineOption> three = {{"cycles", 1}, {"levels", 3}, {"coarsening", 4}};
  const Outcome same = found(model, three);
  for (const EngineOption& own :
       {EngineOption{"backward_coarse", "plain"}, EngineOption{"backward_coarsest", 5},
        EngineOption{"backward_relaxations", 1},
        EngineOption{"backward_final_relaxation", "FCF"}}) {
    std::vector<EngineOption> options = three;
    options.push_back(own);
    const Outcome other = found(model, options);
    EXPECT_EQ(error(other.values, same.values), 0) << own.name;
    EXPECT_GT(error(other.gradients, same.gradients), 0) << own.name;
  }
  // 0 relaxations of the adjoint alone.
  const Outcome more = found(model, {{"cycles", 1}, {"relaxations", 1}}),
                less =
                    found(model, {{"cycles", 1}, {"relaxations", 1}, {"backward_relaxations", 0}});
  EXPECT_EQ(error(more.values, less.values), 0);
  EXPECT_GT(error(more.gradients, less.gradients), 0);
  expect_error<InvalidArgument>(
      "the option backward_levels of engine 'multigrid' must be at least 2, or 0 for that of the "
      "forward problem",
      [&] {
        found(model, {{"backward_levels", 1}});
      });
}

// Whoever steps through an interval does the same, on any number of threads.
TEST(MultigridKnobs, GroupsOfIntervals) {
  const int threads = cpu::num_threads();
  for (const std::int64_t layers : {48, 51}) {
    for (const bool reverse : {false, true}) {
      const Model model = residual_net(layers);
      for (const int levels : {2, 3}) {
        const auto in_groups = [&](int groups) {
          return found(model, {{"groups", groups}, {"levels", levels}, {"coarsening", 4}}, reverse);
        };
        const Outcome batched = in_groups(0), one = in_groups(1);
        EXPECT_LT(error(one.values, batched.values), kRounding);
        EXPECT_LT(error(one.gradients, batched.gradients), kRounding);
        for (const int groups : {3, 5, 64}) {
          for (const int now : {1, 2, 4}) {
            cpu::set_num_threads(now);
            const Outcome other = in_groups(groups);
            EXPECT_EQ(error(other.values, one.values), 0) << groups << now;
            EXPECT_EQ(error(other.gradients, one.gradients), 0) << groups << now;
          }
          cpu::set_num_threads(threads);
        }
      }
    }
  }
}

TEST(MultigridKnobs, GroupsOfIntervalsOfAGru) {
  const Model model = implicit_gru(40);
  const Outcome batched = found(model, {{"coarsening", 4}}),
                grouped = found(model, {{"coarsening", 4}, {"groups", 3}});
  EXPECT_LT(error(grouped.values, batched.values), kRounding);
  EXPECT_LT(error(grouped.gradients, batched.gradients), kRounding);
}

}  // namespace antichain::multigrid_test::knobs_test
