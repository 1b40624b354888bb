// What can be set about residual networks as differential equations, and about recurrent cells.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "recipes/gradient_check.h"
#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/recipes/recipe_data.h"
#include "tests/tensor/expect_error.h"

namespace antichain::odenet_test {

using Given = std::map<std::string, std::string>;

RecipeContext context_of(const std::string& recipe, const Given& settings) {
  RecipeContext context = find_recipe(recipe).context();
  context.data_folder = data_for(recipe);
  context.settings.set("batch", "16");
  for (const auto& [name, value] : settings) {
    context.settings.set(name, value);
  }
  return context;
}

GradientCheck checked(const std::string& recipe, const Given& settings) {
  return check_gradients(find_recipe(recipe), context_of(recipe, settings));
}

TEST(OdeNet, EveryOptionChangesTheLossAndItsGradientIsRight) {
  const double plain = checked("peaks-odenet", {}).loss;
  for (const Given& settings :
       {Given{{"activation", "smooth-relu"}}, Given{{"initial", "0.5"}}, Given{{"tikhonov", "0.1"}},
        Given{{"smoothness", "0.1"}}, Given{{"closing", "0.1"}}, Given{{"time", "1"}}}) {
    SCOPED_TRACE(settings.begin()->first);
    const GradientCheck check = checked("peaks-odenet", settings);
    EXPECT_GT(std::abs(check.loss - plain), 1e-4);
    EXPECT_LT(check.max_relative_error(), 1e-4);
    EXPECT_GT(check.cosine, 0.999999);
  }
}

// h = time / layers: twice the layers change their weights half as much each, in half the time.
TEST(OdeNet, PenaltiesAreThoseOfTheFormula) {
  const auto loss = [](const Given& settings) {
    return checked("peaks-odenet", settings).loss_f64;
  };
  const Given plain = {{"layers", "4"}, {"time", "2"}};
  const auto with = [&](const char* option, const char* factor) {
    Given settings = plain;
    settings[option] = factor;
    return loss(settings) - loss(plain);
  };
  for (const char* option : {"tikhonov", "smoothness", "closing"}) {
    EXPECT_GT(with(option, "1"), 0);
    EXPECT_NEAR(with(option, "2"), 2 * with(option, "1"), 1e-9) << option;
  }
  Given longer = plain;
  longer["time"] = "4";
  Given rough = longer;
  rough["smoothness"] = "1";
  EXPECT_NEAR(loss(rough) - loss(longer), with("smoothness", "1") / 4, 1e-9);
}

TEST(OdeNet, ByMultigridCycles) {
  const Given smooth = {{"initial", "0.001"}, {"layers", "64"}};
  double last = 1;
  for (const char* cycles : {"1", "2", "3"}) {
    Given settings = smooth;
    settings["engine"] = std::string("multigrid:when=always,coarsening=4,cycles=") + cycles;
    const GradientCheck check = checked("peaks-odenet", settings);
    EXPECT_GT(check.cosine, 0.999);
    EXPECT_LE(check.max_relative_error(), last);
    last = std::max(check.max_relative_error(), 1e-6);
  }
}

TEST(HarGru, HasFourCells) {
  if (const std::string reason = missing_data("har-gru"); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  std::map<std::string, double> losses;
  for (const char* cell : {"gru", "implicit", "lstm", "mixed"}) {
    const GradientCheck check = checked("har-gru", {{"cell", cell}, {"hidden", "8"}});
    EXPECT_LT(check.max_relative_error(), 1e-4) << cell;
    losses[cell] = check.loss;
  }
  EXPECT_NE(losses["gru"], losses["implicit"]);
  EXPECT_NE(losses["gru"], losses["lstm"]);
  EXPECT_EQ(losses["gru"], losses["mixed"]);
  EXPECT_NE(checked("har-gru", {{"cell", "implicit"}, {"hidden", "8"}, {"step", "0.5"}}).loss,
            losses["implicit"]);
  expect_error<InvalidArgument>("the option step is for cell=implicit", [] {
    checked("har-gru", {{"step", "0.5"}});
  });
  const GradientCheck cycles =
      checked("har-gru", {{"cell", "implicit"},
                          {"hidden", "8"},
                          {"engine", "multigrid:when=always,coarsening=4,levels=3,cycles=3"}});
  EXPECT_GT(cycles.cosine, 0.99);
  // A step of another kind on the coarse grids: cycles do not find its gradient.
  const auto cosine = [](const char* cell) {
    return checked("har-gru", {{"cell", cell},
                               {"hidden", "8"},
                               {"engine", "multigrid:when=always,coarsening=4,cycles=1"}})
        .cosine;
  };
  EXPECT_LT(cosine("mixed"), cosine("implicit"));
}

}  // namespace antichain::odenet_test
