// `antichain gradcheck`: an engine's gradients against back-propagation in float64.
#include <fmt/format.h>

#include <filesystem>

#include "antichain/base/error.h"
#include "antichain/train/checkpoint.h"
#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/run_folder.h"
#include "apps/antichain/table.h"
#include "recipes/gradient_check.h"

namespace antichain::app {

namespace {

// What is checked: a recipe as it starts, or a run of one as it was trained.
struct Checked {
  const Recipe& recipe;
  RecipeContext context;
  StateStore::Values trained = {};
};

// Of a run, what the command line says about settings comes on top of the run's own.
Checked trained_run(const std::filesystem::path& folder, const RecipeArguments& arguments,
                    const Globals& globals) {
  RunDescription description = read_run(folder);
  const Recipe& recipe = find_recipe(description.recipe);
  RecipeContext context = make_context(recipe, arguments, globals);
  context.settings = description.context.settings;
  set_from_arguments(context.settings, arguments);
  context.seed = description.context.seed;
  if (arguments.data.empty()) {
    context.data_folder = description.context.data_folder;
  }
  const std::filesystem::path checkpoints = folder / "checkpoints";
  std::optional<Checkpoint> checkpoint = load_checkpoint(checkpoints);
  require<DataError>(checkpoint.has_value(), "there is no checkpoint in '{}'",
                     checkpoints.string());
  return {recipe, std::move(context), std::move(checkpoint->states)};
}

Checked checked(const RecipeArguments& arguments, const Globals& globals) {
  if (std::filesystem::is_directory(arguments.recipe)) {
    return trained_run(arguments.recipe, arguments, globals);
  }
  const Recipe& recipe = find_recipe(arguments.recipe);
  return {recipe, make_context(recipe, arguments, globals)};
}

void check(const RecipeArguments& arguments, const Globals& globals) {
  const auto [recipe, context, trained] = checked(arguments, globals);
  const GradientCheck found = check_gradients(recipe, context, trained);
  Table table({"parameter", "relative error", "cosine"});
  Json errors = Json::object(), cosines = Json::object();
  for (const ParameterError& error : found.parameters) {
    table.add({error.parameter, fmt::format("{:.2e}", error.relative_error),
               fmt::format("{:.6f}", error.cosine)});
    errors[error.parameter] = error.relative_error;
    cosines[error.parameter] = error.cosine;
  }
  table.add({"largest", fmt::format("{:.2e}", found.max_relative_error()), "–"});
  table.add({"all together", "–", fmt::format("{:.6f}", found.cosine)});
  if (found.standard_error) {
    table.add({"standard error", fmt::format("{:.2e}", *found.standard_error), "–"});
  }
  globals.output.finish(
      fmt::format("Gradients of {} by {}, against back-propagation in float64:\n\n{}", recipe.name,
                  context.settings.text("engine"), table.str()),
      {{"recipe", recipe.name},
       {"engine", context.settings.text("engine")},
       {"device", context.device},
       {"seed", context.seed},
       {"max_relative_error", found.max_relative_error()},
       {"cosine", found.cosine},
       {"standard_error", found.standard_error ? Json(*found.standard_error) : Json()},
       {"loss", found.loss},
       {"loss_f64", found.loss_f64},
       {"parameters", errors},
       {"cosines", cosines}});
}

}  // namespace

void add_gradcheck_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand(
      "gradcheck", "Compare an engine's gradients with back-propagation in float64");
  const auto arguments = add_recipe_arguments(*command);
  command->get_option("RECIPE")->description(
      "See `antichain recipes`; or the folder of a run, whose trained weights are taken then");
  command->callback([&globals, arguments] { check(*arguments, globals); });
}

}  // namespace antichain::app
