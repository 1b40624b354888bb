// `antichain compare`: the same recipe, seed and data by several engines.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "antichain/base/error.h"
#include "antichain/train/progress_bar.h"
#include "antichain/train/report.h"
#include "apps/antichain/loss_curves.h"
#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/run_folder.h"
#include "apps/antichain/run_report.h"
#include "apps/antichain/table.h"
#include "recipes/compared_settings.h"
#include "recipes/gradient_check.h"

namespace antichain::app {

namespace {

struct CompareArguments {
  std::shared_ptr<RecipeArguments> recipe;
  std::vector<std::string> engines;
  std::string out, plot;
  std::int64_t max_steps = 0;
};

const std::vector<std::string> kHeaders = {"engine",        "train loss", "test loss",
                                           "test accuracy", "time",       "per step",
                                           "samples/s",     "memory",     "gradient error"};

// The time between one step and the next, in the middle of all: a first step is compiled and
// measured by, too, which would be most of a short comparison.
class StepPace {
 public:
  void step() {
    const Clock::time_point now = Clock::now();
    if (last_ != Clock::time_point()) {
      seconds_.push_back(std::chrono::duration<double>(now - last_).count());
    }
    last_ = now;
  }
  double seconds(double otherwise) const {
    if (seconds_.empty()) {
      return otherwise;
    }
    std::vector<double> sorted = seconds_;
    std::ranges::nth_element(sorted,
                             sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    return sorted[sorted.size() / 2];
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_;
  std::vector<double> seconds_;
};

// One engine's row, as text and as JSON, and its curves.
struct Row {
  std::vector<std::string> cells;
  Json json;
  History history;
  std::vector<EngineExplanation> choices;
};

const std::vector<std::string> kChoiceHeaders = {"engine", "region", "how"};

// Sets what the recipe would settle differently for one of the engines for all of them. Returns a
// line that says so, empty where there is nothing.
std::string settle_for_all(const Recipe& recipe, RecipeContext& context,
                           const std::vector<std::string>& engines) {
  const Settings before = context.settings;
  context.settings = settings_for_all(recipe, before, engines);
  const std::string changed = differences(context.settings, before);
  return changed.empty()
             ? ""
             : fmt::format("All engines train with {}, as one of them would by itself.\n", changed);
}

Row run_engine(const Recipe& recipe, RecipeContext context, const std::string& engine,
               const CompareArguments& arguments, const Globals& globals, LossCurves& curves) {
  context.settings.set("engine", engine);
  const double error = check_gradients(recipe, context).max_relative_error();
  RecipeRun run(recipe, context);
  globals.output.tell(engine + "\n");
  curves.start(engine);
  StepPace pace;
  const TrainResult result = [&] {
    ProgressBar bar(globals.output.progress());
    return run.train(
        {.max_steps = arguments.max_steps, .progress = [&](const TrainProgress& progress) {
           curves.add(progress.loss);
           pace.step();
           bar.update(progress);
         }});
  }();
  const RunSummary summary = run.summarize(result);
  Json json = summary_json(run, summary);
  const std::vector<EngineExplanation> choices = run.explain_engines();
  json["engine_choices"] = engine_explanations_json(choices);
  const double step_seconds = pace.seconds(summary.seconds / static_cast<double>(summary.steps));
  json["gradient_error"] = error;
  json["step_seconds"] = step_seconds;
  return {.cells = {engine, fmt::format("{:.5g}", summary.train_loss),
                    fmt::format("{:.5g}", summary.test_loss), percent(summary.test_accuracy),
                    seconds_text(summary.seconds), seconds_text(step_seconds),
                    fmt::format("{:.0f}", summary.samples_per_second),
                    bytes_text(summary.peak_bytes), fmt::format("{:.1e}", error)},
          .json = std::move(json),
          .history = result.history,
          .choices = choices};
}

void compare(const CompareArguments& arguments, const Globals& globals) {
  const Recipe& recipe = find_recipe(arguments.recipe->recipe);
  RecipeContext context = make_context(recipe, *arguments.recipe, globals);
  {
    const Session session({.device = context.device, .logger = context.logger});
    for (const std::string& engines : arguments.engines) {  // all of them before the first is run
      for (const EnginePlan::Part& part : EnginePlan::parse(engines).parts()) {
        session.engines().check(part.engine);
      }
    }
  }
  const std::string for_all = settle_for_all(recipe, context, arguments.engines);
  const RunFolder place = make_run_folder(arguments.out, recipe.name + "-compare");
  Table table(kHeaders), choices(kChoiceHeaders);
  ReportTable report_table{.title = "Engines", .headers = kHeaders},
      choice_table{.title = "What they did", .headers = kChoiceHeaders};
  NamedHistories histories;
  LossCurves curves;
  Json rows = Json::array();
  for (const std::string& engine : arguments.engines) {
    Row row = run_engine(recipe, context, engine, arguments, globals, curves);
    const double difference = curves.largest_difference(rows.size());
    row.json["largest_loss_difference"] =
        std::isfinite(difference) ? Json(difference) : Json(nullptr);
    table.add(row.cells);
    report_table.rows.push_back(row.cells);
    for (const EngineExplanation& choice : row.choices) {
      choices.add({choice.engine, choice.region, choice.how});
      choice_table.rows.push_back({choice.engine, choice.region, choice.how});
    }
    rows.push_back(row.json);
    histories.emplace_back(engine, std::move(row.history));
  }
  const Chart losses = curves.chart();
  if (!arguments.plot.empty()) {
    globals.output.write_to(arguments.plot, draw_chart_file(losses));
  }
  std::vector<Chart> charts = charts_of(histories);
  charts.insert(charts.begin(), losses);
  const std::filesystem::path report = place.path / "report.html";
  std::vector<ReportTable> tables = {report_table};
  if (!choice_table.rows.empty()) {
    tables.push_back(choice_table);
  }
  write_report(report, {.title = recipe.name + " by " +
                                 fmt::format("{}", fmt::join(arguments.engines, ", ")),
                        .tables = std::move(tables),
                        .charts = std::move(charts)});
  globals.output.finish(
      fmt::format("\n{}{}\n{}\n{}The gradient error is the largest of any parameter, relative, "
                  "against back-propagation in float64.\nReport: {}\n",
                  table.str(), choice_table.rows.empty() ? "" : "\n" + choices.str(),
                  curves.table(), for_all, report.string()),
      {{"recipe", recipe.name},
       {"seed", context.seed},
       {"engines", rows},
       {"losses", curves.json()},
       {"report", report.string()}});
}

}  // namespace

void add_compare_command(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("compare", "Train a recipe with several engines, from the same seed");
  const auto arguments = std::make_shared<CompareArguments>();
  arguments->recipe = add_recipe_arguments(*command);
  command->remove_option(command->get_option("--engine"));
  command
      ->add_option_function<std::string>(
          "--engines",
          [arguments](const std::string& text) { arguments->engines = split_engines(text); },
          "Which, with commas in between; with `|` where they are for parts of the model")
      ->required()
      ->type_name("A,B,...");
  command->add_option("--out", arguments->out, "Folder for the report [runs/RECIPE-compare-N]")
      ->type_name("DIR");
  command->add_option("--plot", arguments->plot, "Write the losses of each step as an SVG image")
      ->type_name("FILE");
  command->add_option("--max-steps", arguments->max_steps, "End after so many steps; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->callback([&globals, arguments] { compare(*arguments, globals); });
}

}  // namespace antichain::app
