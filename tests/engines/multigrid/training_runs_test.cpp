// Solves that change from one training step to the next: cycles as they are needed, steps one after
// the other in the end.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/engines/multigrid/chains.h"
#include "tests/tensor/expect_error.h"

namespace antichain::multigrid_test::training_runs_test {

// A chain whose last state and gradient a training step returns, run again and again.
class Training {
 public:
  explicit Training(const EngineChoice& engine, double rate = 0.02) {
    std::vector<double> weights;
    for (int i = 0; i < 64 * 9; ++i) {
      weights.push_back(1.5 * std::sin(1 + i % 9 + rate * i));
    }
    feeds_ = {{"u", Tensor::of<double>({2, 3}, {1, -0.5, 0.2, 0.3, 0.8, -1})},
              {"w", Tensor::of<double>({64, 3, 3}, weights)}};
    buffer("runs", scalar(graph_, f64, 0));
    const Var u = graph_.input("u", f64, {2, 3}), w = graph_.input("w", f64, {64, 3, 3});
    outputs_ = values(u, w, engine);
    const Vars exact = values(u, w, {});
    outputs_.insert(outputs_.end(), exact.begin(), exact.end());
  }

  // Returns the errors of the last state and of the gradient.
  std::vector<double> step() {
    if (!step_) {
      const Var count = add_update(graph_, "runs", scalar(graph_, f64, 1));
      step_ = session_.compile(outputs_, {.updates = {count}});
    }
    const std::vector<Tensor> found = (*step_)(feeds_).tensors();
    return {error({found[0]}, {found[2]}), error({found[1]}, {found[3]})};
  }
  double reported(const std::string& series) {
    return session_.states().get("report/" + series).item<double>();
  }
  double evaluate() {
    const std::vector<Tensor> found = session_.compile(outputs_)(feeds_).tensors();
    return error({found[0]}, {found[2]});
  }
  bool is_saved(const std::string& state) { return session_.states().all().contains(state); }

 private:
  static Vars values(Var u, Var w, const EngineChoice& engine) {
    const auto layer = [](Var s, Var x) { return s + 5.0 / 64 * tanh(matmul(s, x)); };
    const Var last = chain(u, w, layer, {.engine = engine}).last;
    return {last, grad(sum(sin(last)), w)};
  }

  Session session_;
  Graph graph_ = session_.graph();
  Feeds feeds_;
  Vars outputs_;
  std::optional<Executable> step_;
};

TEST(MultigridTrainingRuns, TakesMoreCyclesWhereTheyAreNeeded) {
  constexpr double kRough = 1.3;  // weights of neighbouring layers have little in common
  Training training(
      multigrid({{"coarsening", 4}, {"cycles", 1}, {"coarse", "plain"}, {"adaptive", 2}}), kRough);
  for (int run = 0; run < 40; ++run) {
    const std::vector<double> errors = training.step();
    // A step that is checked is exact.
    EXPECT_EQ(errors[0] < 1e-12, run % 2 == 0) << run;
  }
  for (const std::string problem : {"", "adjoint."}) {
    EXPECT_GT(training.reported(problem + "multigrid_cycles"), 1);
    EXPECT_LT(training.reported(problem + "multigrid_cycles"), 20);
    EXPECT_GT(training.reported(problem + "multigrid_cosine"), 0.9999);
    EXPECT_TRUE(training.is_saved(problem + "multigrid_runs"));
  }
}

TEST(MultigridTrainingRuns, TakesFewerCyclesWhereTheyAreEnough) {
  Training training(multigrid({{"coarsening", 4}, {"cycles", 4}, {"adaptive", 1}}));
  for (int run = 0; run < 12; ++run) {
    training.step();
  }
  EXPECT_EQ(training.reported("multigrid_cycles"), 1);
  EXPECT_GT(training.reported("multigrid_cosine"), 0.999);
  // Evaluation does as the training step does now, and counts nothing.
  const double now = training.evaluate();
  EXPECT_GT(now, 1e-9);
  EXPECT_EQ(training.evaluate(), now);
}

TEST(MultigridTrainingRuns, EndsWithStepsOneAfterTheOther) {
  for (const char* adaptive : {"0", "2"}) {
    Training training(multigrid(
        {{"coarsening", 16}, {"cycles", 1}, {"adaptive", adaptive}, {"serial_after", 3}}));
    for (int run = 0; run < 6; ++run) {
      const bool is_exact = run >= 3 || (adaptive[0] == '2' && run == 0);
      const std::vector<double> errors = training.step();
      if (is_exact) {
        EXPECT_LT(errors[0], 1e-14);
        EXPECT_LT(errors[1], 1e-14);
      }
      EXPECT_EQ(training.reported("multigrid_cycles") > 0, run < 3) << run;
    }
    EXPECT_EQ(training.evaluate(), 0);
  }
}

TEST(MultigridTrainingRuns, EndsAfterAShareOfTheTraining) {
  Training training(multigrid(
      {{"coarsening", 16}, {"cycles", 1}, {"serial_after", 0.75}, {"training_steps", 8}}));
  for (int run = 0; run < 8; ++run) {
    training.step();
    EXPECT_EQ(training.reported("multigrid_cycles") > 0, run < 6) << run;
  }
  expect_error<InvalidArgument>(
      "engine 'multigrid': serial_after=0.75 is a share of the training steps, and training_steps "
      "does not say how many there are",
      [] {
        Training(multigrid({{"serial_after", 0.75}})).step();
      });
}

// Between two checks, a residual that hardly falls is a reason for one cycle more.
TEST(MultigridTrainingRuns, TakesACycleMoreWhereTheyAreSlow) {
  constexpr double kRough = 1.3;
  Training slow(multigrid({{"coarsening", 8},
                           {"cycles", 1},
                           {"coarse", "plain"},
                           {"guess", "zero"},
                           {"adaptive", 1000}}),
                kRough);
  Training smooth(multigrid({{"coarsening", 4}, {"cycles", 1}, {"adaptive", 1000}}));
  for (int run = 0; run < 8; ++run) {
    slow.step();
    smooth.step();
  }
  // The first run was a check, and one cycle more for it; then for the residual, but once.
  EXPECT_EQ(slow.reported("multigrid_cycles"), 3);
  EXPECT_LE(smooth.reported("multigrid_cycles"), 2);
}

}  // namespace antichain::multigrid_test::training_runs_test
