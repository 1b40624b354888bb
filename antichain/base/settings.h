// Named options with types and ranges, and what they were set to: of recipes and of gradient
// engines.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace antichain {

enum class OptionKind { integer, number, text, choice };
// For lists of options, where most are of these kinds.
inline constexpr OptionKind kInteger = OptionKind::integer, kNumber = OptionKind::number;

struct OptionSpec {
  std::string name;
  OptionKind kind = OptionKind::text;
  std::string fallback;  // the value when none is given, as a user would write it
  std::string doc;
  // Of integers and numbers; both ends are included.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // of a choice
  std::string also = {};                  // another name for it; none: empty
};

/// Says of which type an option is and which values it takes, for lists of options.
std::string accepted_values(const OptionSpec& option);

/// Holds a value for every option. Whatever it returns has been checked.
class Settings {
 public:
  /// Starts with the options' fallbacks. For messages: whose options they are ("recipe 'spirals'"),
  /// and the command that lists them.
  Settings(std::string owner, std::string listed_by, std::vector<OptionSpec> options);

  /// Sets an option; throws InvalidArgument on an unknown name and on a value that does not fit.
  void set(std::string_view name, std::string_view value);
  /// Sets an option that the user has left alone: for fallbacks that depend on other options.
  void set_fallback(std::string_view name, std::string_view value);

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<OptionSpec>& options() const { return options_; }

 private:
  const OptionSpec& option(std::string_view name) const;

  std::string owner_, listed_by_;
  std::vector<OptionSpec> options_;
  std::map<std::string, std::string, std::less<>> given_;
};

}  // namespace antichain
