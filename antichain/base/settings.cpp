#include "antichain/base/settings.h"

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

void check(const OptionSpec& option, std::string_view value) {
  if (option.kind == OptionKind::text) {
    require(!value.empty() || option.fallback.empty(), "option '{}' must not be empty",
            option.name);
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

// Nothing where both ends are open.
std::string range_of(const OptionSpec& option) {
  return std::isinf(option.min) && std::isinf(option.max)
             ? ""
             : fmt::format(" in [{}, {}]", option.min, option.max);
}

}  // namespace

std::string accepted_values(const OptionSpec& option) {
  switch (option.kind) {
    case OptionKind::integer: return "whole number" + range_of(option);
    case OptionKind::number: return "number" + range_of(option);
    case OptionKind::choice: return fmt::format("one of {}", fmt::join(option.choices, ", "));
    case OptionKind::text: break;
  }
  return "text";
}

Settings::Settings(std::string owner, std::string listed_by, std::vector<OptionSpec> options)
    : owner_(std::move(owner)), listed_by_(std::move(listed_by)), options_(std::move(options)) {}

const OptionSpec& Settings::option(std::string_view name) const {
  if (const auto other = std::ranges::find(options_, name, &OptionSpec::also);
      !name.empty() && other != options_.end()) {
    return *other;
  }
  const auto nearest = std::min_element(
      options_.begin(), options_.end(), [&](const OptionSpec& a, const OptionSpec& b) {
        return edit_distance(name, a.name) < edit_distance(name, b.name);
      });
  require(!options_.empty(), "{} has no option '{}': it has none at all", owner_, name);
  require(nearest->name == name, "{} has no option '{}'; did you mean '{}'? (`{}` lists them)",
          owner_, name, nearest->name, listed_by_);
  return *nearest;
}

void Settings::set(std::string_view name, std::string_view value) {
  const OptionSpec& found = option(name);
  check(found, value);
  given_.insert_or_assign(found.name, std::string(value));
}

void Settings::set_fallback(std::string_view name, std::string_view value) {
  if (!given_.contains(option(name).name)) {
    set(name, value);
  }
}

const std::string& Settings::text(std::string_view name) const {
  const OptionSpec& wanted = option(name);
  const auto found = given_.find(wanted.name);
  return found != given_.end() ? found->second : wanted.fallback;
}

std::int64_t Settings::integer(std::string_view name) const {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(text(name));
  ensure(value.has_value(), "option '{}' is not an integer", name);
  return *value;
}

double Settings::number(std::string_view name) const {
  const std::optional<double> value = parse_number<double>(text(name));
  ensure(value.has_value(), "option '{}' is not a number", name);
  return *value;
}

}  // namespace antichain
