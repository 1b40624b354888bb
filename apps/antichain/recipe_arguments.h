// What commands that work on a recipe are given.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/antichain/commands.h"
#include "recipes/recipe.h"
#include "recipes/registry.h"

namespace antichain::app {

struct RecipeArguments {
  std::string recipe = "spirals";
  std::int64_t seed = 0;
  std::string device = "cpu";
  std::string data;
  std::string memory_budget;
  std::vector<std::string> settings;     // of --set: NAME=VALUE
  std::vector<std::string> short_forms;  // of --epochs and the like, in the same form
  CompilerOptions compiler;
};

/// Adds --memory-budget for commands that run training steps.
void add_memory_budget(CLI::App& command, RecipeArguments& arguments);
/// Adds RECIPE, --seed, --device, --data, --set, the short forms --engine, --epochs, --batch and
/// --precision, and what is said to the graph compiler: --level, --disable-pass, --fast-math,
/// --dump-passes.
std::shared_ptr<RecipeArguments> add_recipe_arguments(CLI::App& command);
/// Sets what --set and the short forms say; throws InvalidArgument on what does not fit.
void set_from_arguments(Settings& settings, const RecipeArguments& arguments);
/// Returns the context that the arguments ask for; throws InvalidArgument on one that does not fit.
RecipeContext make_context(const Recipe& recipe, const RecipeArguments& arguments,
                           const Globals& globals);
/// Returns a recipe's settings as JSON, numbers as numbers.
Json settings_json(const Settings& settings);

}  // namespace antichain::app
