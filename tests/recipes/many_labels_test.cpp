// Recipes over very many labels: every way to train the output, what is measured of it, and files
// that do not fit.
#include "recipes/many_labels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "antichain/base/file_error.h"
#include "recipes/gradient_check.h"
#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/base/temporary_folder.h"
#include "tests/recipes/recipe_data.h"
#include "tests/tensor/expect_error.h"

namespace antichain::many_labels_test {

using Given = std::vector<std::pair<std::string, std::string>>;

// A quarter of the labels, whatever is faster.
constexpr const char* kHashed = "out=hashing:when=always,active=50,K=4";

RecipeContext planted(const Given& settings) {
  RecipeContext context = find_recipe("xmc-planted").context();
  for (const auto& [name, value] : Given{{"features", "300"},
                                         {"labels", "200"},
                                         {"skew", "0"},
                                         {"train", "3000"},
                                         {"test", "400"},
                                         {"lr", "0.02"},
                                         {"epochs", "8"},
                                         {"hidden", "32"}}) {
    context.settings.set(name, value);
  }
  for (const auto& [name, value] : settings) {
    context.settings.set(name, value);
  }
  return context;
}

RunSummary run(const Given& settings) {
  RecipeRun run(find_recipe("xmc-planted"), planted(settings));
  return run.summarize(run.train({}));
}

// What is chosen by drawing learns nearly as much as what looks at every label.
TEST(ManyLabels, EveryOutputLearns) {
  struct Case {
    Given settings;
    double least;  // of P@1
  };
  for (const Case& tried :
       {Case{{{"output", "dense"}}, 0.8}, Case{{{"output", "sampled"}, {"negatives", "100"}}, 0.7},
        Case{{{"output", "sampled"}, {"negatives", "100"}, {"sampler", "frequency"}}, 0.75},
        Case{{{"output", "low-rank"}, {"rank", "24"}}, 0.65},
        Case{{{"output", "dropout"}, {"active", "0.8"}}, 0.7},
        Case{{{"output", "adaptive-dropout"}, {"active", "0.6"}}, 0.7},
        Case{{{"output", "hashed"}}, 0.8},  // dense, as it is so small
        Case{{{"output", "hashed"}, {"engine", kHashed}}, 0.4},
        Case{{{"output", "hashed"}, {"engine", std::string(kHashed) + ",for=batch,active=180"}},
             0.7}}) {
    SCOPED_TRACE(tried.settings[0].second + " " + tried.settings.back().second);
    const RunSummary summary = run(tried.settings);
    EXPECT_GE(summary.metrics.at("precision_at_1"), tried.least);
    EXPECT_EQ(summary.metrics.at("precision_at_1"), summary.test_accuracy);
    EXPECT_GE(summary.metrics.at("precision_at_1"), summary.metrics.at("precision_at_5"));
    EXPECT_EQ(summary.metrics.size(), 6U);
  }
}

TEST(ManyLabels, EveryOptionChangesTheRun) {
  const auto loss = [](Given settings) {
    settings.insert(settings.end(), {{"epochs", "1"}, {"train", "500"}});
    return run(settings).train_loss;
  };
  const auto differs = [&](const Given& with, const Given& without) {
    EXPECT_NE(loss(with), loss(without)) << with[0].second << " " << with.back().first;
  };
  differs({{"output", "sampled"}, {"negatives", "50"}}, {{"output", "sampled"}});
  differs({{"output", "sampled"}, {"sampler", "frequency"}}, {{"output", "sampled"}});
  differs({{"output", "low-rank"}, {"rank", "3"}}, {{"output", "low-rank"}});
  differs({{"output", "dropout"}, {"active", "0.9"}}, {{"output", "dropout"}});
  differs({{"output", "adaptive-dropout"}, {"active", "0.9"}}, {{"output", "adaptive-dropout"}});
  for (const auto& setting : Given{{"hidden", "16"},
                                   {"features", "200"},
                                   {"labels", "100"},
                                   {"max_labels", "2"},
                                   {"draws", "20"},
                                   {"noise", "0.5"}}) {
    differs({setting}, {{"output", "dense"}});
  }
  const RunSummary usual = run({{"epochs", "1"}});
  for (const char* option : {"propensity_a", "propensity_b"}) {
    const RunSummary other = run({{"epochs", "1"}, {option, "3"}});
    EXPECT_EQ(other.metrics.at("precision_at_3"), usual.metrics.at("precision_at_3"));
    EXPECT_NE(other.metrics.at("propensity_precision_at_3"),
              usual.metrics.at("propensity_precision_at_3"));
  }
}

// The whole way of the measures, against plain loops over what the model says of every test point.
TEST(ManyLabels, MeasuresOverTheWholeTestSet) {
  RecipeRun run(find_recipe("xmc-planted"), planted({{"labels", "7"}, {"epochs", "1"}}));
  run.train({.max_steps = 5});
  const Score score = run.evaluate("test");
  const data::Batch all = data::take_all(*run.task().data.test);
  const auto row_starts = all.at("y_row_starts").to_vector<std::int64_t>();
  double hits = 0;
  const Results results = run.evaluation()(all);
  for (const double hit : results[1].to_vector<double>()) {
    hits += hit;
  }
  EXPECT_NEAR(score.metrics.at("precision_at_1"), hits / 400, 1e-6);
  // All labels but two are among the five best: at least that many hits.
  double least = 0;
  for (std::size_t i = 1; i < row_starts.size(); ++i) {
    least += static_cast<double>(std::max<std::int64_t>(0, row_starts[i] - row_starts[i - 1] - 2));
  }
  EXPECT_GE(score.metrics.at("precision_at_5") * 5 * 400, least);
  EXPECT_LE(score.metrics.at("propensity_precision_at_5"), 1);
}

TEST(ManyLabels, FewerLabelsThanAreRanked) {
  const RunSummary summary = run({{"labels", "4"}, {"epochs", "1"}});
  EXPECT_TRUE(summary.metrics.contains("precision_at_3"));
  EXPECT_FALSE(summary.metrics.contains("precision_at_5"));
}

TEST(ManyLabels, TellsThePartOfActiveUnits) {
  const RunSummary summary = run({{"output", "adaptive-dropout"}, {"active", "0.25"}});
  EXPECT_GT(summary.reports.at("active_share"), 0.1);
  EXPECT_LE(summary.reports.at("active_share"), 0.27);
  EXPECT_TRUE(run({{"epochs", "1"}}).reports.empty());
  const auto hashed = run({{"output", "hashed"}, {"engine", kHashed}, {"epochs", "1"}}).reports;
  EXPECT_EQ(hashed.at("out.active_share"), 0.25);
  EXPECT_GT(hashed.at("out.found_share"), 0);
  // 50 that are drawn, and 1 to 3 labels of an example, 2 on average.
  EXPECT_NEAR(run({{"output", "sampled"}, {"negatives", "50"}, {"epochs", "1"}})
                  .reports.at("out.active_share"),
              52.0 / 200, 0.2 / 200);
  const auto dropped = run({{"output", "dropout"}, {"active", "0.5"}, {"epochs", "1"}}).reports;
  EXPECT_GT(dropped.at("active_share"), 0.1);
  EXPECT_LE(dropped.at("active_share"), 0.52);  // relu switches units off, too
}

// Layers are hashed where it pays for the batch that is trained, not for a usual one: what is said
// of a layer and what has been done with it agree.
TEST(ManyLabels, TheBatchDecidesWhatIsHashed) {
  std::map<std::string, int> ways;
  for (const char* batch : {"4", "128", "2000"}) {
    SCOPED_TRACE(batch);
    RecipeRun run(find_recipe("xmc-planted"),
                  planted({{"labels", "2000"},
                           {"hidden", "128"},
                           {"batch", batch},
                           {"engine", "out=hashing:active=576,drawn=0.9"}}));
    const std::string how = run.explain_engines().at(0).how;
    const bool is_hashed = how.starts_with("hashed");
    ++ways[how.substr(0, how.find(':'))];
    // "about 0.8 ms a step, 0.91 if dense" or "about 2.8 ms a step, 576 active ones 3"
    const double own = std::stod(how.substr(how.find("about ") + 6));
    const std::string before_other = is_hashed ? "a step, " : "active ones ";
    const double other = std::stod(how.substr(how.find(before_other) + before_other.size()));
    EXPECT_LE(own, other) << how;
    EXPECT_EQ(run.session().states().contains("out.0.hashing.codes"), is_hashed) << how;
  }
  EXPECT_EQ(ways.size(), 2U) << "one batch decides for another";
}

// What is evaluated by tables is nearly as good, and all labels of them are all labels.
TEST(ManyLabels, EvaluationByTables) {
  const auto precision = [](const std::string& inference) {
    const RunSummary summary =
        run({{"output", "hashed"}, {"engine", std::string(kHashed) + inference}});
    return summary.metrics.at("precision_at_1");
  };
  const double dense = precision("");
  EXPECT_GT(precision(",inference=hashed"), dense - 0.1);
  EXPECT_NEAR(precision(",inference=hashed,inference_share=1"), dense, 0.003);
  EXPECT_LT(precision(",inference=hashed,inference_share=0.01"), dense - 0.05);
}

TEST(ManyLabels, GradientsOfEveryOutput) {
  for (const char* output : {"dense", "sampled", "low-rank", "dropout"}) {
    SCOPED_TRACE(output);
    const GradientCheck check = check_gradients(find_recipe("xmc-planted"),
                                                planted({{"output", output}, {"negatives", "50"}}));
    EXPECT_LT(check.max_relative_error(), 1e-4);
  }
}

TEST(ManyLabels, HashedIsTheEngineOfTheOutput) {
  const Recipe& recipe = find_recipe("xmc-planted");
  const auto engine = [&](const Given& settings) {
    Settings given = planted(settings).settings;
    recipe.settle(given);
    return given.text("engine");
  };
  EXPECT_EQ(engine({{"output", "hashed"}}), "out=hashing");
  EXPECT_EQ(engine({{"output", "hashed"}, {"engine", "out=hashing:active=64"}}),
            "out=hashing:active=64");
  EXPECT_EQ(engine({}), "backprop");
  expect_error<InvalidArgument>(
      "output=sampled is a layer that the engine hashing does not compute; leave one of them out",
      [&] {
        engine({{"output", "sampled"}, {"engine", "out=hashing"}});
      });
}

class XmcFiles : public testing::Test {
 protected:
  RecipeContext context(const std::string& data, const Given& settings = {}) const {
    RecipeContext context = find_recipe("xmc").context();
    context.data_folder = data.empty() ? "" : (folder_ / data).string();
    for (const auto& [name, value] : settings) {
      context.settings.set(name, value);
    }
    return context;
  }
  RunSummary train(const RecipeContext& context) const {
    RecipeRun run(find_recipe("xmc"), context);
    return run.summarize(run.train({}));
  }

  TemporaryFolder folder_;
};

TEST_F(XmcFiles, FromAnywhere) {
  const std::string points = "3 4 6\n2,0 1:1 3:0.5\n5 0:2\n1 2:1\n";
  folder_.write("a_train.txt", points);
  folder_.write("a_test.txt", points);
  folder_.write("set/train.txt", points);
  folder_.write("set/test.txt", points);
  folder_.write("other", points);
  const double loss = train(context("a_train.txt")).test_loss;
  EXPECT_GT(loss, 0);
  EXPECT_EQ(train(context("set")).test_loss, loss);
  EXPECT_EQ(train(context("other", {{"test", "set/test.txt"}})).test_loss, loss);
  expect_error<InvalidArgument>(
      "recipe 'xmc' reads a file of training points in the format of extreme classification; say "
      "which by --data FILE",
      [&] { train(context("")); });
}

// They have nothing to learn from and nothing that can be right; the others are as ever.
TEST_F(XmcFiles, PointsWithoutLabelsOrFeatures) {
  folder_.write("train.txt", "4 3 6\n2 1:1\n 0:1\n4\n\n");
  folder_.write("test.txt", "3 3 6\n 0:1\n\n2 1:1\n");
  std::vector<std::string> lines;
  RecipeContext given = context("train.txt", {{"epochs", "60"}, {"lr", "0.05"}});
  given.logger =
      Logger(LogLevel::info, [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const RunSummary summary = train(given);
  EXPECT_NEAR(summary.metrics.at("precision_at_1"), 1.0 / 3, 1e-6);
  EXPECT_NEAR(summary.metrics.at("propensity_precision_at_1"), 1, 1e-6);
  EXPECT_TRUE(std::isfinite(summary.train_loss));
  ASSERT_GE(lines.size(), 2U);
  EXPECT_TRUE(
      lines[0].ends_with("training: 4 points, 2 of them without labels, 2 without features"))
      << lines[0];
}

TEST_F(XmcFiles, OnlyEmptyPoints) {
  folder_.write("train.txt", "2 3 6\n\n\n");
  folder_.write("test.txt", "1 3 6\n\n");
  const RunSummary summary = train(context("train.txt", {{"epochs", "1"}}));
  EXPECT_EQ(summary.train_loss, 0);
  EXPECT_EQ(summary.metrics.at("precision_at_1"), 0);
}

TEST_F(XmcFiles, SayWhatIsWrong) {
  folder_.write("train.txt", "1 3 0\n\n");
  folder_.write("test.txt", "1 3 0\n\n");
  expect_error<DataError>("there must be at least one feature and one label, the data have 3 and 0",
                          [&] { train(context("train.txt")); });
  // Refused before the machine is asked for it.
  for (const char* part : {"train.txt", "test.txt"}) {
    folder_.write(part, "1 2147483647 2147483647\n1 1:1\n");
  }
  try {
    train(context("train.txt"));
    ADD_FAILURE() << "memory for a model of 6 TB";
  } catch (const MachineError& error) {
    EXPECT_TRUE(std::string_view(error.what())
                    .starts_with("a model of 2147483647 features and 2147483647 labels takes "
                                 "6240.0 GiB with what Adam keeps of it, and this machine has "))
        << error.what();
  }
}

TEST(MnistHashed, EveryOutputLearns) {
  if (const std::string reason = missing_data("mnist-hashed"); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  for (const char* output : {"dense", "dropout", "adaptive-dropout", "hashed"}) {
    SCOPED_TRACE(output);
    RecipeContext context = find_recipe("mnist-hashed").context();
    context.data_folder = test_data_folder();
    for (const auto& [name, value] :
         Given{{"output", output}, {"hidden", "100"}, {"active", "0.5"}}) {
      context.settings.set(name, value);
    }
    RecipeRun run(find_recipe("mnist-hashed"), context);
    const RunSummary summary = run.summarize(run.train({.max_steps = 200}));
    EXPECT_GE(summary.test_accuracy, 0.85);
    if (output == std::string_view("hashed")) {
      // Half of a hundred, and all of ten.
      EXPECT_NEAR(summary.reports.at("mlp.active_share"), 60.0 / 110, 1e-9);
    }
  }
}

}  // namespace antichain::many_labels_test
