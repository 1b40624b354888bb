// What is done with recipes, on short runs of `spirals`: every option does something, and what it
// says.
#include "recipes/recipe_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "recipes/compared_settings.h"
#include "recipes/gradient_check.h"
#include "recipes/registry.h"
#include "recipes/training_options.h"
#include "tests/base/temporary_folder.h"
#include "tests/tensor/expect_error.h"

namespace antichain::recipe_run_test {

using Given = std::vector<std::pair<std::string, std::string>>;

RecipeContext context_with(const Given& settings, std::int64_t seed = 0) {
  RecipeContext context = find_recipe("spirals").context();
  context.seed = seed;
  context.settings.set("epochs", "2");
  context.settings.set("hidden", "6");
  context.settings.set("batch", "250");
  for (const auto& [name, value] : settings) {
    context.settings.set(name, value);
  }
  return context;
}

RunSummary run(const Given& settings, std::int64_t seed = 0) {
  RecipeRun run(find_recipe("spirals"), context_with(settings, seed));
  return run.summarize(run.train({}));
}

TEST(RecipeRun, SameSeedSameLoss) {
  EXPECT_EQ(run({}).train_loss, run({}).train_loss);
  EXPECT_NE(run({}).train_loss, run({}, 1).train_loss);
}

TEST(RecipeRun, EveryOptionChangesTheRun) {
  const double usual = run({}).train_loss;
  for (const auto& setting : Given{{"epochs", "3"},
                                   {"batch", "100"},
                                   {"hidden", "7"},
                                   {"arms", "2"},
                                   {"noise", "0.1"},
                                   {"optimiser", "adam"},
                                   {"lr", "0.01"},
                                   {"schedule", "cosine"},
                                   {"schedule", "step"},
                                   {"warm_up", "1"},
                                   {"weight_decay", "0.1"},
                                   {"momentum", "0"},
                                   {"clip", "0.01"},
                                   {"accumulate", "2"},
                                   {"precision", "bf16"},
                                   {"precision", "fp16"}}) {
    EXPECT_NE(run({setting}).train_loss, usual) << setting.first;
  }
  EXPECT_EQ(run({{"precision", "tf32"}}).train_loss, usual);  // the CPU has none
}

TEST(RecipeRun, EveryOptimiserTrains) {
  for (const OptionSpec& option : find_recipe("spirals").options) {
    if (option.name == "optimiser") {
      ASSERT_GE(option.choices.size(), 3U);
      for (const std::string& choice : option.choices) {
        SCOPED_TRACE(choice);
        const Given settings = {{"optimiser", choice}, {"epochs", "1"}, {"lr", "0.003"}};
        EXPECT_LT(run(settings).train_loss, 2);
      }
    }
  }
}

TEST(RecipeRun, ABudgetChangesNoBit) {
  struct Case {
    std::string recipe;
    Given settings;
  };
  for (const Case& tried :
       {Case{"conv-chain", {{"depth", "30"}, {"batch", "4"}}},
        Case{"conv-chain", {{"depth", "30"}, {"batch", "4"}, {"weights", "own"}}},
        Case{"peaks-odenet", {{"layers", "100"}}}}) {
    SCOPED_TRACE(tried.recipe);
    RecipeContext context = find_recipe(tried.recipe).context();
    for (const auto& [name, value] : tried.settings) {
      context.settings.set(name, value);
    }
    RecipeRun plain(find_recipe(tried.recipe), context);
    const double loss = plain.train({.max_steps = 4}).train_loss;
    context.memory_budget = plain.step().memory_bytes() * 8 / 10;
    RecipeRun limited(find_recipe(tried.recipe), context);
    EXPECT_EQ(limited.train({.max_steps = 4}).train_loss, loss);
    EXPECT_LE(limited.step().memory_bytes(), *context.memory_budget);
  }
}

TEST(RecipeRun, TellsWhatItsLongestChainKeeps) {
  RecipeContext context = find_recipe("conv-chain").context();
  context.settings.set("depth", "30");
  context.settings.set("batch", "2");
  RecipeRun plain(find_recipe("conv-chain"), context);
  EXPECT_EQ(plain.kept_states()->steps, 30);
  EXPECT_EQ(plain.kept_states()->stored, 30);
  EXPECT_EQ(plain.kept_states()->evaluations, 1);
  EXPECT_EQ(plain.kept_states()->state_bytes, 2 * 4 * 16 * 16 * 4);
  context.memory_budget = 200'000;
  RecipeRun limited(find_recipe("conv-chain"), context);
  EXPECT_LT(limited.kept_states()->stored, 25);
  EXPECT_EQ(limited.kept_states()->evaluations, 2);
  EXPECT_GT(limited.kept_states()->all_evaluations, 30);
  EXPECT_LE(limited.kept_states()->all_evaluations, 60);
  EXPECT_FALSE(RecipeRun(find_recipe("spirals"), context_with({})).kept_states().has_value());
}

TEST(RecipeRun, PatienceEndsARunEarly) {
  const RunSummary summary = run({{"patience", "2"}, {"epochs", "500"}, {"lr", "1e-9"}});
  EXPECT_EQ(summary.epochs, 3);
}

std::vector<float> coordinates(const data::DatasetPtr& set) {
  return data::take_all(*set).at("x").to_vector<float>();
}

// What is measured at the end must not have been chosen by.
TEST(RecipeRun, PatienceWatchesWhatIsHeldOutOfTheTrainingSet) {
  const Recipe& recipe = find_recipe("spirals");
  const RecipeRun all(recipe, context_with({}));
  EXPECT_EQ(all.task().data.validation, nullptr);
  EXPECT_EQ(all.task().data.train->size(), 1000);
  RecipeRun held(recipe, context_with({{"patience", "1"}}));
  EXPECT_EQ(held.task().data.train->size(), 900);
  EXPECT_EQ(held.task().data.validation->size(), 100);
  EXPECT_EQ(coordinates(held.task().data.test), coordinates(all.task().data.test));
  std::vector<float> parts = coordinates(held.task().data.train);
  const std::vector<float> validation = coordinates(held.task().data.validation);
  parts.insert(parts.end(), validation.begin(), validation.end());
  std::vector<float> whole = coordinates(all.task().data.train);
  std::ranges::sort(parts);
  std::ranges::sort(whole);
  EXPECT_EQ(parts, whole);
  const RecipeRun again(recipe, context_with({{"patience", "1"}}));
  EXPECT_EQ(coordinates(again.task().data.validation), validation);
  const TrainResult result = held.train({.max_steps = 2});
  EXPECT_TRUE(result.scores.contains("validation"));
  EXPECT_TRUE(result.scores.contains("test"));
}

TEST(RecipeRun, OneModelForAllEnginesOfAComparison) {
  const Recipe& spirals = find_recipe("spirals");
  Settings settings = spirals.context().settings;
  const std::vector<std::string> both = {"backprop", "forward"};
  EXPECT_EQ(differences(settings_for_all(spirals, settings, both), settings),
            "hidden=12, epochs=25");
  EXPECT_EQ(differences(settings_for_all(spirals, settings, {both.data(), 1}), settings), "");
  settings.set("hidden", "20");
  EXPECT_EQ(differences(settings_for_all(spirals, settings, both), settings), "epochs=25");
  Recipe torn = spirals;
  torn.settle = [](Settings& own) {
    own.set_fallback("hidden", own.text("engine") == "backprop" ? "64"
                               : own.text("engine") == "scan"   ? "8"
                                                                : "12");
  };
  expect_error<InvalidArgument>(
      "'hidden' would be 12 with engine=forward and 8 with engine=scan, which are different "
      "models; set it for all of them",
      [&] {
        settings_for_all(torn, torn.context().settings,
                         std::vector<std::string>{"backprop", "forward", "scan"});
      });
}

// The schedule of a recipe is for the other optimisers.
TEST(RecipeRun, LbfgsHasNoScheduleOfTheRecipe) {
  for (const Recipe& recipe : recipes()) {
    SCOPED_TRACE(recipe.name);
    Settings settings = recipe.context().settings;
    settings.set("optimiser", "lbfgs");
    settings = settled(recipe, settings);
    EXPECT_EQ(settings.text("schedule"), "constant");
    EXPECT_EQ(settings.number("warm_up"), 0);
    EXPECT_EQ(settings.number("weight_decay"), 0);
  }
  RecipeContext context = find_recipe("peaks-odenet").context();
  context.settings.set("optimiser", "lbfgs");
  RecipeRun run(find_recipe("peaks-odenet"), context);
  const double before = run.evaluate("test").loss;
  run.train({.max_steps = 5});
  EXPECT_LT(run.evaluate("test").loss, before);
  context.settings.set("schedule", "cosine");
  expect_error<InvalidArgument>(
      "optimiser=lbfgs has a line search of its own: schedule, warm_up, weight_decay, clip, "
      "accumulate and lazy_rows must be left alone",
      [&] { RecipeRun(find_recipe("peaks-odenet"), context).step(); });
}

TEST(RecipeRun, CountsStepsAndWeights) {
  const RunSummary result = run({{"batch", "300"}, {"arms", "2"}});  // 300 + 300 + 300 + 100
  EXPECT_EQ(result.steps, 8);
  EXPECT_EQ(result.parameters, 2 * 6 + 6 + 6 * 6 + 6 + 6 * 2 + 2);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GT(result.samples_per_second, 0);
  EXPECT_GT(result.peak_bytes, 4 * result.parameters);
}

// Both engines are exact; the sums of f32 products differ in their order.
TEST(RecipeRun, EnginesAgree) {
  const double backprop = run({{"engine", "backprop"}}).train_loss;
  EXPECT_NEAR(run({{"engine", "forward"}}).train_loss, backprop, 1e-4 * backprop);
}

TEST(RecipeRun, ForwardModeIsSmallUnlessToldOtherwise) {
  for (const char* engine : {"forward", "*=forward", "mlp=forward, *=backprop"}) {
    RecipeContext context = find_recipe("spirals").context();
    context.settings.set("engine", engine);
    context.settings.set("epochs", "1");
    const RecipeRun run(find_recipe("spirals"), context);
    EXPECT_EQ(run.context().settings.integer("hidden"), 12) << engine;
    EXPECT_EQ(run.context().settings.integer("epochs"), 1) << engine;
  }
}

TEST(RecipeRun, EvaluatesTheStatesAsTheyAre) {
  RecipeRun run(find_recipe("spirals"), context_with({}));
  const double before = run.evaluate("test").loss;
  const TrainResult result = run.train({});
  EXPECT_LT(run.evaluate("test").loss, before);
  EXPECT_EQ(run.evaluate("test").loss, result.scores.at("test").loss);
}

TEST(RecipeRun, RefusesWhatItCannotDo) {
  expect_error<InvalidArgument>(
      "there is no gradient engine 'bakcprop'; did you mean 'backprop'? This session has: "
      "backprop, forward, hashing, likelihood, multigrid, scan",
      [] {
        run({{"engine", "bakcprop"}});
      });
  expect_error<InvalidArgument>(
      "optimiser=lbfgs does not scale the loss: use another precision than fp16", [] {
        run({{"optimiser", "lbfgs"}, {"precision", "fp16"}});
      });
  RecipeContext context = context_with({});
  context.device = "gpu";
  EXPECT_THROW(RecipeRun(find_recipe("spirals"), context), InvalidArgument);
  EXPECT_THROW(run({{"lr", "1e20"}}), DataError);
  RecipeRun run(find_recipe("spirals"), context_with({}));
  expect_error<InvalidArgument>("recipe 'spirals' has no validation data",
                                [&] { run.evaluate("validation"); });
}

TEST(RecipeRun, AnOverflowIsLeftOutAndHalvesTheScaleOfTheLoss) {
  RecipeRun run(find_recipe("spirals"), context_with({{"precision", "fp16"}}));
  const Executable& step = run.step();
  const data::Batch batch = run.first_batch();
  StateStore& states = run.session().states();
  const auto scale = [&] { return states.get("optimiser.loss_scale").item<double>(); };
  EXPECT_EQ(scale(), 65536);
  constexpr double kTooLarge = 1e9;  // times a gradient: no f16
  states.set("optimiser.loss_scale", Tensor::full(f64, {}, kTooLarge));
  const Tensor before = states.get("mlp.0.weight").clone();
  step(batch);
  EXPECT_EQ(scale(), kTooLarge / 2);
  EXPECT_TRUE(bit_equal(states.get("mlp.0.weight"), before));
  EXPECT_EQ(states.get("optimiser.step").item<std::int64_t>(), 0);
  while (states.get("optimiser.step").item<std::int64_t>() == 0) {
    step(batch);
    ASSERT_GT(scale(), 1);
  }
  EXPECT_FALSE(bit_equal(states.get("mlp.0.weight"), before));
}

TEST(RecipeRun, ResumesToTheBitInSixteenBits) {
  for (const char* precision : {"bf16", "fp16"}) {
    SCOPED_TRACE(precision);
    const RecipeContext context = context_with({{"precision", precision}});
    const auto states = [&](const TrainOptions& options) {
      RecipeRun run(find_recipe("spirals"), context);
      run.train(options);
      return run.session().states().all();
    };
    const TemporaryFolder folder;
    int steps = 0;
    const auto whole = states({});
    states({.folder = folder.path(), .stop = [&] { return ++steps == 3; }});
    const auto resumed = states({.folder = folder.path(), .resume = true});
    ASSERT_EQ(resumed.size(), whole.size());
    for (const auto& [name, value] : whole) {
      EXPECT_TRUE(bit_equal(value, resumed.at(name))) << name;
    }
  }
}

TEST(GradientCheck, EnginesAreExactUpToRounding) {
  for (const char* engine : {"backprop", "forward"}) {
    const GradientCheck check =
        check_gradients(find_recipe("spirals"), context_with({{"engine", engine}}));
    EXPECT_EQ(check.parameters.size(), 6U);
    EXPECT_LT(check.max_relative_error(), 1e-5);
    EXPECT_GT(check.max_relative_error(), 0);
    EXPECT_NEAR(check.loss, check.loss_f64, 1e-5);
  }
}

TEST(GradientCheck, OfAnEstimateSaysItsStandardError) {
  const auto checked = [](const char* engine) {
    return check_gradients(find_recipe("spirals"), context_with({{"engine", engine}}));
  };
  EXPECT_FALSE(checked("backprop").standard_error);
  const GradientCheck mixed = checked("likelihood"),
                      few = checked("likelihood:mode=layer,copies=8,noise=rademacher");
  EXPECT_EQ(mixed.standard_error, 0) << "more orthogonal copies than logits";
  EXPECT_LT(mixed.max_relative_error(), 0.005);
  EXPECT_GT(few.standard_error, 0.5);
  EXPECT_GT(few.max_relative_error(), 0.2);
}

TEST(RecipeRun, LearnsFromRunsWithNoise) {
  const auto loss_by = [](const char* engine) {
    RecipeRun run(find_recipe("spirals"), context_with({{"engine", engine}, {"epochs", "8"}}));
    return run.summarize(run.train({})).train_loss;
  };
  const double exact = loss_by("backprop");
  EXPECT_NEAR(loss_by("likelihood"), exact, 0.05);
  for (const char* engine :
       {"likelihood:mode=layer,copies=64", "likelihood:mode=full,copies=128"}) {
    EXPECT_NEAR(loss_by(engine), exact, 0.15) << engine;
  }
}

TEST(GradientCheck, OfAChainByAScan) {
  const Recipe& recipe = find_recipe("bitstream-rnn");
  RecipeContext context = recipe.context();
  for (const auto& [name, value] :
       Given{{"engine", "scan"}, {"hidden", "3"}, {"samples", "100"}, {"length", "200"}}) {
    context.settings.set(name, value);
  }
  EXPECT_LT(check_gradients(recipe, context).max_relative_error(), 1e-5);
}

RunSummary run_chain(const Given& settings) {
  const Recipe& recipe = find_recipe("bitstream-rnn");
  RecipeContext context = recipe.context();
  for (const auto& [name, value] :
       Given{{"hidden", "3"}, {"samples", "100"}, {"T", "30"}, {"epochs", "1"}, {"lr", "0.01"}}) {
    context.settings.set(name, value);
  }
  for (const auto& [name, value] : settings) {
    context.settings.set(name, value);
  }
  RecipeRun run(recipe, context);
  return run.summarize(run.train({}));
}

TEST(RecipeRun, AChainByNewtonAndByEveryScan) {
  const double usual = run_chain({}).train_loss;
  EXPECT_EQ(usual, run_chain({{"length", "30"}}).train_loss);
  const double newton = run_chain({{"engine", "scan:forward=newton"}}).train_loss;
  EXPECT_NEAR(newton, usual, 1e-4);
  EXPECT_NE(run_chain({{"engine", "scan:forward=newton,tolerance=0.5"}}).train_loss, newton);
  for (const char* algorithm : {"serial", "blelloch", "hybrid", "chunked"}) {
    const std::string engine = std::string("scan:algorithm=") + algorithm;
    EXPECT_NEAR(run_chain({{"engine", engine}}).train_loss, usual, 1e-5);
  }
  EXPECT_NEAR(run_chain({{"engine", "scan:algorithm=chunked,chunk=7"}}).train_loss, usual, 1e-5);
}

TEST(GradientCheck, OfAChainByNewton) {
  const Recipe& recipe = find_recipe("bitstream-rnn");
  RecipeContext context = recipe.context();
  for (const auto& [name, value] : Given{{"engine", "scan:forward=newton"}, {"samples", "100"}}) {
    context.settings.set(name, value);
  }
  EXPECT_LT(check_gradients(recipe, context).max_relative_error(), 1e-4);
}

TEST(GradientCheck, SeesLowPrecision) {
  const GradientCheck check =
      check_gradients(find_recipe("spirals"), context_with({{"precision", "bf16"}}));
  EXPECT_GT(check.max_relative_error(), 1e-4);
  EXPECT_LT(check.max_relative_error(), 0.2);
  // Three bits more, and a loss that is scaled: no gradient is lost.
  const GradientCheck half =
      check_gradients(find_recipe("spirals"), context_with({{"precision", "fp16"}}));
  EXPECT_GT(half.max_relative_error(), 1e-5);
  EXPECT_LT(half.max_relative_error(), 0.25 * check.max_relative_error());
}

}  // namespace antichain::recipe_run_test
