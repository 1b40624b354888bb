// Which gradient engine differentiates a region of a graph, and how that engine is set.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace antichain {

/// Names the engine that applies the ops' own rules; it needs no engine set.
inline constexpr std::string_view kBackprop = "backprop";

/// An option of an engine as it is written: "chunk=64".
struct EngineOption {
  std::string name, value;

  template <class T>
  EngineOption(std::string option, const T& set)
      : name(std::move(option)), value(fmt::format("{}", set)) {}
};

/// A gradient engine with its options: "scan", "scan:chunk=64,algorithm=chunked" as text, or
/// {"scan", {{"chunk", 64}}}. Here alone it is decided that no name means back-propagation.
class EngineChoice {
 public:
  /// Leaves the choice open: to the graph's EnginePlan, or else it is back-propagation.
  EngineChoice() = default;
  /// Reads a choice; throws InvalidArgument where it is none. Empty text leaves it open.
  EngineChoice(std::string_view text);
  EngineChoice(const std::string& text) : EngineChoice(std::string_view(text)) {}
  EngineChoice(const char* text) : EngineChoice(std::string_view(text)) {}
  EngineChoice(std::string name, std::vector<EngineOption> options);

  bool is_open() const { return name_.empty(); }
  bool is_backprop() const { return is_open() || name_ == kBackprop; }
  /// Returns the engine's name; "backprop" where the choice is open.
  std::string name() const { return is_open() ? std::string(kBackprop) : name_; }
  const std::vector<EngineOption>& options() const { return options_; }
  /// Returns the choice as text, from which the same one can be read.
  std::string str() const;
  /// Returns what a region op keeps in its attribute `engine`: empty for back-propagation, whatever
  /// way it was asked for.
  std::string attribute() const { return is_backprop() ? std::string() : str(); }

  friend bool operator==(const EngineChoice& a, const EngineChoice& b) {
    return a.str() == b.str();
  }

 private:
  std::string name_;
  std::vector<EngineOption> options_;
};

}  // namespace antichain
