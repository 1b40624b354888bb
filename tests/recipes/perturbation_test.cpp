// Inputs moved against a model, held to finite differences of its losses.
#include "recipes/perturbation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/tensor/expect_error.h"

namespace antichain::perturbation_test {

RecipeRun untrained(const std::string& engine = "backprop") {
  RecipeContext context = find_recipe("spirals").context();
  context.seed = 3;
  context.settings.set("hidden", "16");
  context.settings.set("engine", engine);
  return {find_recipe("spirals"), context};
}

std::vector<float> inputs_of(const data::DatasetPtr& set) {
  return data::take_all(*set)["x"].to_vector<float>();
}

std::vector<float> losses_at(RecipeRun& run, const std::vector<float>& x) {
  data::Batch batch = data::take_all(*run.task().data.test);
  batch["x"] = Tensor::of<float>(batch["x"].shape(), x);
  return run.evaluation()(batch)[0].to_vector<float>();
}

// The slopes of the losses by every input, from losses on both sides of it: that of an example
// depends on its own inputs alone.
std::vector<double> slopes(RecipeRun& run, const std::vector<float>& x) {
  constexpr float kStep = 2e-3F;
  constexpr std::size_t kAxes = 2;
  std::vector<double> found(x.size());
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    std::vector<float> above = x, below = x;
    for (std::size_t i = axis; i < x.size(); i += kAxes) {
      above[i] += kStep;
      below[i] -= kStep;
    }
    const std::vector<float> up = losses_at(run, above), down = losses_at(run, below);
    for (std::size_t n = 0; n < up.size(); ++n) {
      found[n * kAxes + axis] = (up[n] - down[n]) / (2.0 * kStep);
    }
  }
  return found;
}

// The part of the inputs which moved as far as they should up a slope that is not all but flat.
double moved_right(RecipeRun& run, double size) {
  const std::vector<float> x = inputs_of(run.task().data.test);
  const std::vector<float> moved =
      inputs_of(run.perturbed("test", {.kind = Perturbation::Kind::fgsm, .size = size}));
  const auto [least, most] = std::ranges::minmax(x);
  const std::vector<double> slope = slopes(run, x);
  double right = 0, all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::abs(moved[i] - x[i]), size + 1e-6);
    EXPECT_GE(moved[i], least);
    EXPECT_LE(moved[i], most);
    const bool is_near_an_end = x[i] - least < 0.1 || most - x[i] < 0.1;  // of a batch's range, too
    if (std::abs(slope[i]) > 0.02 && !is_near_an_end) {
      const double wanted = slope[i] > 0 ? size : -size;
      right += std::abs(moved[i] - x[i] - wanted) < 1e-5 ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(all, 500);
  return right / all;
}

TEST(Perturbation, FollowsTheSignOfFiniteDifferences) {
  RecipeRun run = untrained();
  EXPECT_GT(moved_right(run, 0.01), 0.99);
}

TEST(Perturbation, FollowsItByEstimatesWithoutAGradient) {
  RecipeRun run = untrained("likelihood:mode=layer,copies=32,sigma=0.01");
  EXPECT_GT(moved_right(run, 0.01), 0.97);
}

TEST(Perturbation, RaisesTheLoss) {
  RecipeRun run = untrained();
  const double loss = run.evaluate("test").loss;
  const double attacked = run.evaluate(run.perturbed("test", parse_perturbation("fgsm:0.1"))).loss;
  const double noisy = run.evaluate(run.perturbed("test", parse_perturbation("noise:0.1"))).loss;
  EXPECT_GT(attacked, loss + 0.02);
  EXPECT_GT(attacked, noisy + 0.02);
}

TEST(Perturbation, NoiseHasItsDeviation) {
  RecipeRun run = untrained();
  const std::vector<float> x = inputs_of(run.task().data.test);
  const std::vector<float> moved =
      inputs_of(run.perturbed("test", parse_perturbation("noise:0.02")));
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += (moved[i] - x[i]) * (moved[i] - x[i]);
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(x.size())), 0.02, 0.001);
}

TEST(Perturbation, SaysWhatItTakes) {
  EXPECT_EQ(parse_perturbation("fgsm:0.25").size, 0.25);
  for (const char* wrong : {"fgsm", "fgsm:", "noise:0", "noise:-1", "noise:inf", "blur:1", ""}) {
    expect_error<InvalidArgument>(
        "inputs are perturbed by fgsm:SIZE or noise:SIZE, with a number above 0; got '" +
            std::string(wrong) + "'",
        [&] { parse_perturbation(wrong); });
  }
}

}  // namespace antichain::perturbation_test
