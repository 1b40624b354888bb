#include "apps/antichain/run_folder.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/output_file.h"
#include "antichain/train/json_file.h"
#include "apps/antichain/output.h"
#include "recipes/registry.h"

namespace antichain::app {

namespace {

namespace fs = std::filesystem;

constexpr const char *kDescription = "run.json", *kIsNoRun = "does not describe a run";

void create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    fail_on_file("make the folder", folder, error.value());
  }
}

// Returns the value of a setting as it is written today.
std::string renamed(const std::string& setting, const std::string& value) {
  return setting == "precision" && value == "f32" ? "fp32" : value;
}

// A path may hold any bytes, JSON only UTF-8.
Json path_json(const fs::path& path) {
  const std::string text = path.string();
  try {
    static_cast<void>(Json(text).dump());
    return text;
  } catch (const Json::exception&) {
    return {{"bytes", std::vector<std::uint8_t>(text.begin(), text.end())}};
  }
}

fs::path path_from(const nlohmann::json& value, const JsonReader& reader) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  const nlohmann::json& bytes = reader.part(value, "bytes");
  std::string text;
  for (const nlohmann::json& byte : bytes) {
    constexpr std::int64_t kMost = 255;
    text += static_cast<char>(reader.as_integer(byte, "bytes", 1, kMost));
  }
  return text;
}

CompilerOptions compiler_from(const nlohmann::json& json, const JsonReader& reader) {
  CompilerOptions compiler;  // runs of the past do not say
  if (json.contains("level")) {
    constexpr std::int64_t kAny = 1000;  // whether there is such a level is said elsewhere
    compiler.level = static_cast<int>(reader.integer(json, "level", -kAny, kAny));
  }
  if (json.contains("disabled_passes")) {
    for (const nlohmann::json& pass : reader.part(json, "disabled_passes")) {
      if (!pass.is_string()) {
        reader.refuse("'disabled_passes' is no list of names");
      }
      compiler.disabled.push_back(pass.get<std::string>());
    }
  }
  if (json.contains("fast_math")) {
    compiler.fast_math = reader.truth(json, "fast_math");
  }
  return compiler;
}

RunDescription parse(const nlohmann::json& json, const JsonReader& reader) {
  const std::string recipe = reader.text(json, "recipe");
  RunDescription run{.recipe = recipe, .context = find_recipe(recipe).context()};
  for (const auto& [name, value] : reader.object(json, "settings").items()) {
    if (!value.is_string()) {
      reader.refuse(fmt::format("the setting '{}' is no text", name));
    }
    run.context.settings.set(name, renamed(name, value.get<std::string>()));
  }
  run.context.seed = reader.integer(json, "seed", INT64_MIN, INT64_MAX);
  run.context.device = reader.text(json, "device");
  run.context.data_folder = path_from(reader.part(json, "data"), reader);
  if (json.contains("memory_budget")) {
    const std::int64_t budget = reader.integer(json, "memory_budget", 0, INT64_MAX);
    if (budget > 0) {
      run.context.memory_budget = static_cast<std::size_t>(budget);
    }
  }
  run.context.compiler = compiler_from(json, reader);
  return run;
}

void require_no_run(const fs::path& folder) {
  require(!fs::exists(folder / kDescription) && !fs::exists(folder / "checkpoints"),
          "'{}' already holds a run; go on with it by --resume {}, or choose another --out",
          folder.string(), folder.string());
}

RunFolder locked(fs::path folder) {
  auto lock = std::make_shared<const FolderLock>(folder);
  return {.path = std::move(folder), .lock = std::move(lock)};
}

}  // namespace

RunFolder make_run_folder(const std::string& asked, const std::string& recipe) {
  if (!asked.empty()) {
    require_no_run(asked);
    create(asked);
    RunFolder folder = locked(asked);
    require_no_run(asked);  // another process may have been quicker
    return folder;
  }
  for (std::int64_t number = 1;; ++number) {
    fs::path folder = fs::path("runs") / fmt::format("{}-{}", recipe, number);
    create("runs");
    std::error_code error;
    if (fs::create_directory(folder, error)) {  // also decides between two runs that start at once
      return locked(std::move(folder));
    }
    if (!fs::exists(folder)) {
      fail_on_file("make the folder", folder, error.value());
    }
  }
}

void describe_run(const fs::path& folder, const Recipe& recipe, const RecipeContext& context) {
  constexpr int kIndent = 1;
  Json settings = Json::object();
  for (const OptionSpec& option : recipe.options) {
    settings[option.name] = context.settings.text(option.name);
  }
  const fs::path data =
      context.data_folder.empty() ? fs::path() : fs::absolute(context.data_folder);
  const Json json = {{"recipe", recipe.name},
                     {"seed", context.seed},
                     {"device", context.device},
                     {"data", path_json(data)},
                     {"memory_budget", context.memory_budget.value_or(0)},
                     {"level", context.compiler.level},
                     {"disabled_passes", context.compiler.disabled},
                     {"fast_math", context.compiler.fast_math},
                     {"settings", settings}};
  write_file(folder / kDescription, json.dump(kIndent) + "\n");
}

RunDescription read_run(const fs::path& folder) {
  const fs::path path = folder / kDescription;
  require<DataError>(fs::exists(path), "'{}' holds no run: there is no {}", folder.string(),
                     kDescription);
  try {
    return parse(read_json(path, kIsNoRun), JsonReader(path.string(), kIsNoRun));
  } catch (const InvalidArgument& error) {
    fail<DataError>("'{}' {}: {}", path.string(), kIsNoRun, error.what());
  }
}

}  // namespace antichain::app
