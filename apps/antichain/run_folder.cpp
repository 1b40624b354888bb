#include "apps/antichain/run_folder.h"

#include <fmt/format.h>

#include <fstream>

#include "antichain/base/atomic_file.h"
#include "antichain/base/error.h"
#include "apps/antichain/output.h"
#include "recipes/registry.h"

namespace antichain::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kDescription = "run.json";

void create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require<DataError>(!error, "cannot make the folder '{}': {}", folder.string(), error.message());
}

// Returns the value of a setting as it is written today.
std::string renamed(const std::string& setting, const std::string& value) {
  return setting == "precision" && value == "f32" ? "fp32" : value;
}

RunDescription parse(const Json& json) {
  RunDescription run{.recipe = json.at("recipe"),
                     .context = find_recipe(json.at("recipe").get<std::string>()).context()};
  for (const auto& [name, value] : json.at("settings").items()) {
    run.context.settings.set(name, renamed(name, value.get<std::string>()));
  }
  run.context.seed = json.at("seed");
  run.context.device = json.at("device");
  run.context.data_folder = json.at("data");
  if (const std::size_t budget = json.value("memory_budget", std::size_t{0}); budget > 0) {
    run.context.memory_budget = budget;
  }
  CompilerOptions& compiler = run.context.compiler;  // runs of the past do not say
  compiler.level = json.value("level", compiler.level);
  compiler.disabled = json.value("disabled_passes", compiler.disabled);
  compiler.fast_math = json.value("fast_math", compiler.fast_math);
  return run;
}

}  // namespace

fs::path make_run_folder(const std::string& asked, const std::string& recipe) {
  if (!asked.empty()) {
    require(!fs::exists(fs::path(asked) / kDescription),
            "'{}' already holds a run; go on with it by --resume {}, or choose another --out",
            asked, asked);
    create(asked);
    return asked;
  }
  for (std::int64_t number = 1;; ++number) {
    fs::path folder = fs::path("runs") / fmt::format("{}-{}", recipe, number);
    create("runs");
    std::error_code error;
    if (fs::create_directory(folder, error)) {  // also decides between two runs that start at once
      return folder;
    }
    require<DataError>(fs::exists(folder), "cannot make the folder '{}': {}", folder.string(),
                       error.message());
  }
}

void describe_run(const fs::path& folder, const Recipe& recipe, const RecipeContext& context) {
  constexpr int kIndent = 1;
  Json settings = Json::object();
  for (const OptionSpec& option : recipe.options) {
    settings[option.name] = context.settings.text(option.name);
  }
  const std::string data =
      context.data_folder.empty() ? "" : fs::absolute(context.data_folder).string();
  const Json json = {{"recipe", recipe.name},
                     {"seed", context.seed},
                     {"device", context.device},
                     {"data", data},
                     {"memory_budget", context.memory_budget.value_or(0)},
                     {"level", context.compiler.level},
                     {"disabled_passes", context.compiler.disabled},
                     {"fast_math", context.compiler.fast_math},
                     {"settings", settings}};
  write_file(folder / kDescription, json.dump(kIndent) + "\n");
}

RunDescription read_run(const fs::path& folder) {
  const fs::path path = folder / kDescription;
  std::ifstream stream(path);
  require<DataError>(stream.good(), "'{}' holds no run: there is no {}", folder.string(),
                     kDescription);
  try {
    return parse(Json::parse(stream));
  } catch (const Json::exception& error) {
    fail<DataError>("'{}' does not describe a run: {}", path.string(), error.what());
  }
}

}  // namespace antichain::app
