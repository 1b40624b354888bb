// `antichain recipes`: what `antichain train` can train, and what can be set about it.
#include <fmt/format.h>

#include "apps/antichain/commands.h"
#include "apps/antichain/option_json.h"
#include "apps/antichain/table.h"
#include "recipes/registry.h"

namespace antichain::app {

namespace {

Json recipe_json(const Recipe& recipe) {
  Json options = Json::array();
  for (const OptionSpec& option : recipe.options) {
    options.push_back(option_json(option));
  }
  return {{"name", recipe.name}, {"summary", recipe.summary}, {"options", options}};
}

void list_recipes(const Globals& globals) {
  Table table({"recipe", "what it does"});
  Json list = Json::array();
  for (const Recipe& recipe : recipes()) {
    table.add({recipe.name, recipe.summary});
    list.push_back(recipe_json(recipe));
  }
  globals.output.finish(table.str() + "\n`antichain recipes NAME` shows what can be set.\n",
                        {{"recipes", list}});
}

void show_recipe(const Globals& globals, const Recipe& recipe) {
  Table table({"option", "default", "accepts", "meaning"});
  for (const OptionSpec& option : recipe.options) {
    table.add({option.name, option.fallback, accepted_values(option), option.doc});
  }
  globals.output.finish(
      fmt::format("{}: {}\n\n{}\nSet them with --set: antichain train {} --set {}={}\n",
                  recipe.name, recipe.summary, table.str(), recipe.name, recipe.options[0].name,
                  recipe.options[0].fallback),
      recipe_json(recipe));
}

}  // namespace

void add_recipes_command(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("recipes", "List the recipes, or what can be set about one");
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "Show the options of this recipe");
  command->callback([&globals, name] {
    if (name->empty()) {
      list_recipes(globals);
    } else {
      show_recipe(globals, find_recipe(*name));
    }
  });
}

}  // namespace antichain::app
