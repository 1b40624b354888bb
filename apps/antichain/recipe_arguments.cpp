#include "apps/antichain/recipe_arguments.h"

#include "antichain/base/byte_size.h"
#include "antichain/base/error.h"
#include "antichain/passes/pipeline.h"

namespace antichain::app {

namespace {

void add_short_form(CLI::App& command, const std::shared_ptr<RecipeArguments>& arguments,
                    const std::string& option, const std::string& type, const std::string& what) {
  command
      .add_option_function<std::string>(
          "--" + option,
          [arguments, option](const std::string& value) {
            arguments->short_forms.push_back(option + "=" + value);
          },
          what + " (short for --set " + option + "=" + type + ")")
      ->type_name(type);
}

void add_compiler_options(CLI::App& command, CompilerOptions& options) {
  command
      .add_option(
          "--level", options.level,
          "How much the graph is optimised: 0 (as it was built), 1 (simpler), 2 (fused, too) or 3 "
          "(in other layouts, too: what is convolved may be rounded otherwise)")
      ->capture_default_str();
  command
      .add_option("--disable-pass", options.disabled,
                  "Leave out a pass of the compiler, see `antichain passes`; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command.add_flag(
      "--fast-math", options.fast_math,
      "Let floats be added and multiplied in a cheaper order, and a * b + c be rounded once");
  command
      .add_option("--dump-passes", options.dump_folder,
                  "Write the graph after each pass, and how long it took, into DIR/1, DIR/2, ...: "
                  "one folder for each graph that is compiled")
      ->type_name("DIR");
}

Json json_value(const Settings& settings, const OptionSpec& option) {
  switch (option.kind) {
    case OptionKind::integer: return settings.integer(option.name);
    case OptionKind::number: return settings.number(option.name);
    case OptionKind::text:
    case OptionKind::choice: break;
  }
  return settings.text(option.name);
}

}  // namespace

std::shared_ptr<RecipeArguments> add_recipe_arguments(CLI::App& command) {
  auto arguments = std::make_shared<RecipeArguments>();
  command.add_option("RECIPE", arguments->recipe, "See `antichain recipes`")->capture_default_str();
  command.add_option("--seed", arguments->seed, "Determines everything that is drawn")
      ->capture_default_str();
  command.add_option("--device", arguments->device, "Where to run: cpu, cuda or cuda:N")
      ->capture_default_str();
  command
      .add_option("--data", arguments->data,
                  "Folder with data sets [$ANTICHAIN_DATA, or the user's data folder]")
      ->type_name("DIR");
  add_short_form(command, arguments, "engine", "NAME[:OPTION=VALUE,...]",
                 "Who computes the gradients; 'encoder=scan, *=backprop' for parts of the model");
  add_short_form(command, arguments, "epochs", "N", "Passes over the training set");
  add_short_form(command, arguments, "batch", "N", "Examples per step");
  add_short_form(command, arguments, "precision", "NAME",
                 "What to compute in: fp32, tf32 (on the CPU that is fp32), bf16 or fp16");
  command
      .add_option("--set", arguments->settings,
                  "Set an option of the recipe, see `antichain recipes RECIPE`; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_compiler_options(command, arguments->compiler);
  return arguments;
}

void add_memory_budget(CLI::App& command, RecipeArguments& arguments) {
  command
      .add_option("--memory-budget", arguments.memory_budget,
                  "The most that values may take within a training step, such as 200MiB; what does "
                  "not fit is computed again [all are kept]")
      ->type_name("SIZE");
}

void set_from_arguments(Settings& settings, const RecipeArguments& arguments) {
  for (const std::vector<std::string>* given : {&arguments.settings, &arguments.short_forms}) {
    for (const std::string& setting : *given) {
      const std::size_t equals = setting.find('=');
      require(equals != std::string::npos, "--set takes NAME=VALUE, got '{}'", setting);
      settings.set(setting.substr(0, equals), setting.substr(equals + 1));
    }
  }
}

RecipeContext make_context(const Recipe& recipe, const RecipeArguments& arguments,
                           const Globals& globals) {
  RecipeContext context = recipe.context();
  set_from_arguments(context.settings, arguments);
  context.seed = arguments.seed;
  context.device = arguments.device;
  context.data_folder = arguments.data;
  check(arguments.compiler);
  context.compiler = arguments.compiler;
  if (!arguments.memory_budget.empty()) {
    context.memory_budget = parse_byte_size(arguments.memory_budget);
  }
  context.logger = Logger(globals.log_level);
  return context;
}

Json settings_json(const Settings& settings) {
  Json json = Json::object();
  for (const OptionSpec& option : settings.options()) {
    json[option.name] = json_value(settings, option);
  }
  return json;
}

}  // namespace antichain::app
