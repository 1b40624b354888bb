#include "recipes/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "antichain/base/edit_distance.h"
#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"

namespace antichain {

namespace {

void check(const RecipeOption& option, std::string_view value) {
  if (option.kind == OptionKind::text) {
    require(!value.empty(), "option '{}' must not be empty", option.name);
    return;
  }
  if (option.kind == OptionKind::choice) {
    require(std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end(),
            "option '{}' must be one of {}, got '{}'", option.name, fmt::join(option.choices, ", "),
            value);
    return;
  }
  const bool is_integer = option.kind == OptionKind::integer;
  const double number = parse_number<double>(value).value_or(std::nan(""));
  require(std::isfinite(number) && (!is_integer || parse_number<std::int64_t>(value).has_value()),
          "option '{}' must be a {}, got '{}'", option.name, is_integer ? "whole number" : "number",
          value);
  require(number >= option.min && number <= option.max,
          "option '{}' must be within [{}, {}], got {}", option.name, option.min, option.max,
          value);
}

}  // namespace

RecipeSettings::RecipeSettings(std::string recipe, std::vector<RecipeOption> options)
    : recipe_(std::move(recipe)), options_(std::move(options)) {}

const RecipeOption& RecipeSettings::option(std::string_view name) const {
  if (const auto other = std::ranges::find(options_, name, &RecipeOption::also);
      !name.empty() && other != options_.end()) {
    return *other;
  }
  const auto nearest = std::min_element(
      options_.begin(), options_.end(), [&](const RecipeOption& a, const RecipeOption& b) {
        return edit_distance(name, a.name) < edit_distance(name, b.name);
      });
  require(nearest != options_.end() && nearest->name == name,
          "recipe '{}' has no option '{}'; did you mean '{}'? (`antichain recipes {}` lists them)",
          recipe_, name, nearest != options_.end() ? nearest->name : "", recipe_);
  return *nearest;
}

void RecipeSettings::set(std::string_view name, std::string_view value) {
  const RecipeOption& found = option(name);
  check(found, value);
  given_.insert_or_assign(found.name, std::string(value));
}

void RecipeSettings::set_fallback(std::string_view name, std::string_view value) {
  if (!given_.contains(option(name).name)) {
    set(name, value);
  }
}

const std::string& RecipeSettings::text(std::string_view name) const {
  const RecipeOption& wanted = option(name);
  const auto found = given_.find(wanted.name);
  return found != given_.end() ? found->second : wanted.fallback;
}

std::int64_t RecipeSettings::integer(std::string_view name) const {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(text(name));
  ensure(value.has_value(), "option '{}' is not an integer", name);
  return *value;
}

double RecipeSettings::number(std::string_view name) const {
  const std::optional<double> value = parse_number<double>(text(name));
  ensure(value.has_value(), "option '{}' is not a number", name);
  return *value;
}

}  // namespace antichain
