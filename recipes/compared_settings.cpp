#include "recipes/compared_settings.h"

#include <map>

#include "antichain/base/error.h"
#include "recipes/training_options.h"

namespace antichain {

Settings settings_for_all(const Recipe& recipe, const Settings& settings,
                          std::span<const std::string> engines) {
  const Settings usual = settled(recipe, settings);
  Settings common = settings;
  std::map<std::string, std::string> asked_by;  // option -> engine
  for (const std::string& engine : engines) {
    Settings own = settings;
    own.set("engine", engine);
    own = settled(recipe, own);
    for (const OptionSpec& option : own.options()) {
      const std::string& value = own.text(option.name);
      if (option.name == "engine" || value == usual.text(option.name)) {
        continue;
      }
      const auto [other, is_first] = asked_by.emplace(option.name, engine);
      require(is_first || common.text(option.name) == value,
              "'{}' would be {} with engine={} and {} with engine={}, which are different models; "
              "set it for all of them",
              option.name, common.text(option.name), other->second, value, engine);
      common.set(option.name, value);
    }
  }
  return common;
}

std::string differences(const Settings& settings, const Settings& from) {
  std::string text;
  for (const OptionSpec& option : settings.options()) {
    if (const std::string& value = settings.text(option.name); value != from.text(option.name)) {
      text += (text.empty() ? "" : ", ") + option.name + "=" + value;
    }
  }
  return text;
}

}  // namespace antichain
