// `antichain gradcheck`: an engine's gradients against back-propagation in float64.
#include <fmt/format.h>

#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/table.h"
#include "recipes/gradient_check.h"

namespace antichain::app {

namespace {

void check(const RecipeArguments& arguments, const Globals& globals) {
  const Recipe& recipe = find_recipe(arguments.recipe);
  const RecipeContext context = make_context(recipe, arguments, globals);
  const GradientCheck found = check_gradients(recipe, context);
  Table table({"parameter", "relative error"});
  Json errors = Json::object();
  for (const ParameterError& error : found.parameters) {
    table.add({error.parameter, fmt::format("{:.2e}", error.relative_error)});
    errors[error.parameter] = error.relative_error;
  }
  table.add({"largest", fmt::format("{:.2e}", found.max_relative_error())});
  if (found.standard_error) {
    table.add({"standard error", fmt::format("{:.2e}", *found.standard_error)});
  }
  globals.output.finish(
      fmt::format("Gradients of {} by {}, against back-propagation in float64:\n\n{}", recipe.name,
                  context.settings.text("engine"), table.str()),
      {{"recipe", recipe.name},
       {"engine", context.settings.text("engine")},
       {"device", context.device},
       {"seed", context.seed},
       {"max_relative_error", found.max_relative_error()},
       {"standard_error", found.standard_error ? Json(*found.standard_error) : Json()},
       {"loss", found.loss},
       {"loss_f64", found.loss_f64},
       {"parameters", errors}});
}

}  // namespace

void add_gradcheck_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand(
      "gradcheck", "Compare an engine's gradients with back-propagation in float64");
  const auto arguments = add_recipe_arguments(*command);
  command->callback([&globals, arguments] { check(*arguments, globals); });
}

}  // namespace antichain::app
