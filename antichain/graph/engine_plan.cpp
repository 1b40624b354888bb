#include "antichain/graph/engine_plan.h"

#include <algorithm>
#include <utility>

#include "antichain/base/error.h"

namespace antichain {

namespace {

constexpr std::string_view kBlanks = " \t\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Where a part ends: a semicolon, or a comma that does not go on with an engine's options. Those
// follow a colon and have no blank before them.
std::size_t end_of_part(std::string_view text) {
  bool has_options = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    has_options |= text[i] == ':';
    const bool before_blank =
        i + 1 == text.size() || kBlanks.find(text[i + 1]) != std::string_view::npos;
    if (text[i] == ';' || (text[i] == ',' && (!has_options || before_blank))) {
      return i;
    }
  }
  return text.size();
}

// The items of a text, without the blanks around them.
template <class FindEnd>
std::vector<std::string_view> split(std::string_view text, FindEnd find_end) {
  std::vector<std::string_view> items;
  for (std::string_view rest = text; !trimmed(rest).empty();) {
    const std::size_t end = find_end(rest);
    items.push_back(trimmed(rest.substr(0, end)));
    rest = rest.substr(std::min(rest.size(), end + 1));
  }
  return items;
}

EnginePlan::Part read_part(std::string_view item, std::string_view text) {
  require(!item.empty(), "'{}' has an empty part: write SCOPE=ENGINE, with ', ' in between", text);
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos || item.find(':') < equals) {
    return {"*", item};
  }
  const std::string_view scope = trimmed(item.substr(0, equals));
  const std::string_view engine = trimmed(item.substr(equals + 1));
  require(!scope.empty() && !engine.empty(),
          "'{}' in '{}' names no part of a model: write SCOPE=ENGINE, with ', ' in between", item,
          text);
  return {std::string(scope), engine};
}

// Matches all of `text` against a pattern with stars; goes back to the last star on a mismatch.
bool fits(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0, star = std::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

bool is_in_scope(std::string_view scope, std::string_view pattern) {
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = scope.find('.', end == 0 ? 0 : end + 1);
    if (fits(scope.substr(0, end), pattern)) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> split_engines(std::string_view text) {
  const bool has_plans = text.find('|') != std::string_view::npos;
  const auto at_bar = [](std::string_view rest) { return std::min(rest.size(), rest.find('|')); };
  const std::vector<std::string_view> items =
      has_plans ? split(text, at_bar) : split(text, end_of_part);
  return {items.begin(), items.end()};
}

EnginePlan::EnginePlan(std::vector<Part> parts) : parts_(std::move(parts)) {
  for (const Part& part : parts_) {
    const auto same = std::ranges::count(parts_, part.scope, &Part::scope);
    require(same == 1, "'{}' is given {} engines; one part of a model has one", part.scope, same);
  }
}

EnginePlan EnginePlan::parse(std::string_view text) {
  std::vector<Part> parts;
  for (std::string_view item : split(text, end_of_part)) {
    parts.push_back(read_part(item, text));
  }
  return EnginePlan(std::move(parts));
}

int EnginePlan::part_of(std::string_view scope) const {
  const auto found = std::ranges::find_if(
      parts_, [scope](const Part& part) { return is_in_scope(scope, part.scope); });
  return found == parts_.end() ? -1 : static_cast<int>(found - parts_.begin());
}

std::string EnginePlan::str() const {
  std::string text;
  for (const Part& part : parts_) {
    text += (text.empty() ? "" : ", ");
    text += is_for_all() ? part.engine.str() : part.scope + "=" + part.engine.str();
  }
  return text;
}

}  // namespace antichain
