// `antichain run`: trains a recipe and reports how it went.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "antichain/base/error.h"
#include "apps/antichain/commands.h"
#include "apps/antichain/progress_bar.h"
#include "apps/antichain/table.h"
#include "recipes/registry.h"

namespace antichain::app {

namespace {

struct RunArguments {
  std::string recipe = "spirals";
  std::int64_t seed = 0;
  std::string device = "cpu";
  std::string engine;
  std::vector<std::string> settings;
};

RecipeContext make_context(const Recipe& recipe, const RunArguments& arguments,
                           const Globals& globals) {
  RecipeContext context = recipe.context();
  for (const std::string& setting : arguments.settings) {
    const std::size_t equals = setting.find('=');
    require(equals != std::string::npos, "--set takes NAME=VALUE, got '{}'", setting);
    context.settings.set(setting.substr(0, equals), setting.substr(equals + 1));
  }
  if (!arguments.engine.empty()) {
    context.settings.set("engine", arguments.engine);
  }
  context.seed = arguments.seed;
  context.device = arguments.device;
  context.logger = Logger(globals.log_level);
  return context;
}

std::string format(const Metric& metric) {
  switch (metric.kind) {
    case MetricKind::count: return fmt::format("{:.0f}", metric.value);
    case MetricKind::fraction: return fmt::format("{:.1f} %", 100 * metric.value);
    case MetricKind::seconds: return fmt::format("{:.1f} s", metric.value);
    case MetricKind::plain: break;
  }
  return fmt::format("{:.4g}", metric.value);
}

Json json_value(const Metric& metric) {
  return metric.kind == MetricKind::count ? Json(std::llround(metric.value)) : Json(metric.value);
}

Json json_value(const RecipeSettings& settings, const RecipeOption& option) {
  switch (option.kind) {
    case OptionKind::integer: return settings.integer(option.name);
    case OptionKind::number: return settings.number(option.name);
    case OptionKind::text: break;
  }
  return settings.text(option.name);
}

void report(const Output& output, const Recipe& recipe, const RecipeContext& context,
            const RecipeResult& result) {
  Table table;
  table.add({"recipe", recipe.name});
  table.add({"seed", std::to_string(context.seed)});
  table.add({"device", context.device});
  Json settings = Json::object(), metrics = Json::object();
  for (const RecipeOption& option : recipe.options) {
    table.add({option.name, context.settings.text(option.name)});
    settings[option.name] = json_value(context.settings, option);
  }
  for (const Metric& metric : result.metrics) {
    std::string label = metric.name;
    std::replace(label.begin(), label.end(), '_', ' ');
    table.add({label, format(metric)});
    metrics[metric.name] = json_value(metric);
  }
  output.finish("\n" + table.str(), {{"recipe", recipe.name},
                                     {"seed", context.seed},
                                     {"device", context.device},
                                     {"settings", settings},
                                     {"metrics", metrics}});
}

void run(const RunArguments& arguments, const Globals& globals) {
  const Recipe& recipe = find_recipe(arguments.recipe);
  RecipeContext context = make_context(recipe, arguments, globals);
  const RecipeResult result = [&] {
    ProgressBar bar(globals.output.progress());
    context.progress = [&bar](const RecipeProgress& progress) { bar.update(progress); };
    return recipe.run(context);
  }();
  report(globals.output, recipe, context, result);
}

}  // namespace

void add_run_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("run", "Train a recipe and report how it went");
  const auto arguments = std::make_shared<RunArguments>();
  command->add_option("RECIPE", arguments->recipe, "What to run: see `antichain recipes`")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Determines everything that is drawn")
      ->capture_default_str();
  command->add_option("--set", arguments->settings, "Set an option of the recipe; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_option("--engine", arguments->engine,
                      "Short for --set engine=NAME: see `antichain engines`");
  command->add_option("--device", arguments->device, "Where to run: cpu, cuda or cuda:N")
      ->capture_default_str();
  command->callback([&globals, arguments] { run(*arguments, globals); });
}

}  // namespace antichain::app
