// Recipes that are trained by engine multigrid: one-shot optimisation, first guesses that are kept
// from epoch to epoch and from net to net, the settings of the papers.
#include <gtest/gtest.h>

#include <map>

#include "recipes/engine_facts.h"
#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/base/temporary_folder.h"
#include "tests/tensor/expect_error.h"

namespace antichain::layer_parallel_test {

using Given = std::map<std::string, std::string>;

RecipeContext peaks(const Given& given) {
  Given settings = {{"layers", "16"}, {"epochs", "3"}, {"initial", "0.001"}};
  for (const auto& [name, value] : given) {
    settings[name] = value;
  }
  RecipeContext context = find_recipe("peaks-odenet").context();
  for (const auto& [name, value] : settings) {
    context.settings.set(name, value);
  }
  return context;
}

TrainResult trained(const Given& given) {
  return RecipeRun(find_recipe("peaks-odenet"), peaks(given)).train({});
}

// One cycle forward, one back, from where the last iteration ended, one step of L-BFGS.
TEST(LayerParallel, OneShotOptimisation) {
  for (const char* line_search : {"none", "backtracking"}) {
    const Given one_shot = {{"batch", "5000"},
                            {"epochs", "60"},
                            {"optimiser", "lbfgs"},
                            {"lr", "0.5"},
                            {"line_search", line_search}};
    Given cycles = one_shot;
    cycles["engine"] = "multigrid:when=always,coarsening=4,cycles=1,guess=batch";
    const double first = trained({{"batch", "5000"}, {"epochs", "1"}}).train_loss;
    const TrainResult exact = trained(one_shot), found = trained(cycles);
    EXPECT_LT(exact.train_loss, 0.6 * first) << line_search;
    EXPECT_LT(found.train_loss, 0.6 * first) << line_search;
    EXPECT_NEAR(found.train_loss, exact.train_loss, 0.1 * first) << line_search;
    EXPECT_LT(last_reports(found.history).at("residual.multigrid_residual"), 1e-3);
  }
  expect_error<InvalidArgument>("line_search=none is for optimiser=lbfgs", [] {
    trained({{"line_search", "none"}, {"epochs", "1"}});
  });
}

TEST(LayerParallel, BatchesComeAgainInAFixedOrder) {
  const std::string engine = "multigrid:when=always,coarsening=4,cycles=1,guess=batch";
  expect_error<InvalidArgument>(
      "guess=batch starts from what the same batch found an epoch before: set order=fixed, or "
      "batch "
      "to the size of the training set",
      [&] {
        trained({{"engine", engine}});
      });
  // Where weights change slowly, that is better than coarse steps which are not.
  const Given fixed = {
      {"engine", engine + ",coarse=plain"}, {"order", "fixed"}, {"batch", "1500"}, {"lr", "1e-5"}};
  const TrainResult warm = trained(fixed);
  Given cold = fixed;
  cold["engine"] = "multigrid:when=always,coarsening=4,cycles=1,coarse=plain";
  const std::string residual = "residual.multigrid_residual";
  EXPECT_LT(last_reports(warm.history).at(residual),
            last_reports(trained(cold).history).at(residual));
}

TEST(LayerParallel, KeptGuessesAreInCheckpoints) {
  const Given settings = {
      {"engine", "multigrid:when=always,coarsening=4,cycles=1,guess=batch,serial_after=0.9"},
      {"order", "fixed"},
      {"batch", "1500"}};
  const Recipe& recipe = find_recipe("peaks-odenet");
  const auto weights = [](RecipeRun& run) {
    return run.session().states().get("residual.weight").to_vector<double>();
  };
  RecipeRun whole(recipe, peaks(settings));
  whole.train({});
  const TemporaryFolder folder;
  int steps = 0;
  RecipeRun part(recipe, peaks(settings));
  const auto stop = [&] { return ++steps >= 6; };
  EXPECT_FALSE(part.train({.folder = folder / "run", .stop = stop}).finished);
  RecipeRun last(recipe, peaks(settings));
  EXPECT_TRUE(last.train({.folder = folder / "run", .resume = true}).finished);
  EXPECT_EQ(weights(last), weights(whole));
}

TEST(LayerParallel, StatesAreCarriedToDeeperNets) {
  // Two copies of three ends, of one number each.
  const Tensor ends = Tensor::of<float>({2, 3, 1}, {2, 4, 8, 1, 1, 3});
  const Tensor refined = refined_intervals(ends);
  EXPECT_EQ(refined.shape(), (Shape{2, 6, 1}));
  EXPECT_EQ(refined.to_vector<double>(), (std::vector<double>{2, 2, 3, 4, 6, 8, 1, 1, 1, 1, 2, 3}));

  // The first solves of the deeper net start from those of the other, not from coarse grids.
  const Given settings = {{"engine", "multigrid:when=always,coarsening=2,cycles=1,guess=batch"},
                          {"order", "fixed"},
                          {"batch", "2500"},
                          {"nested", "2"}};
  RecipeRun run(find_recipe("peaks-odenet"), peaks(settings));
  run.train({});
  const StateStore& states = run.session().states();
  EXPECT_EQ(states.get("residual.multigrid_guess_visits").item<std::int64_t>(), 12);
}

TEST(LayerParallel, MeansOfClasses) {
  const TrainResult found = trained(
      {{"engine", "multigrid:when=always,coarsening=4,cycles=1,guess=class-means,classes=5"}});
  EXPECT_GT(found.scores.at("test").accuracy, 0.4);
}

TEST(LayerParallel, PublishedSettings) {
  const auto settled = [](const Given& given) {
    RecipeContext context = find_recipe("peaks-odenet").context();
    for (const auto& [name, value] : given) {
      context.settings.set(name, value);
    }
    return RecipeRun(find_recipe("peaks-odenet"), context).context().settings;
  };
  const Settings paper = settled({{"published", "paper"}, {"epochs", "2"}});
  EXPECT_EQ(paper.number("time"), 1);
  EXPECT_EQ(paper.text("activation"), "smooth-relu");
  EXPECT_EQ(paper.text("optimiser"), "lbfgs");
  EXPECT_EQ(paper.integer("epochs"), 2);
  const Settings talk = settled({{"published", "talk"}});
  EXPECT_EQ(talk.number("time"), 5);
  EXPECT_EQ(talk.text("activation"), "tanh");
  EXPECT_EQ(talk.number("tikhonov"), 1e-5);
}

}  // namespace antichain::layer_parallel_test
