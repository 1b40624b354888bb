// Which engine differentiates which part of a model: parts are scopes, as names of parameters show
// them ("encoder.layer_0.weight" is in the scope "encoder.layer_0").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "antichain/graph/engine_choice.h"

namespace antichain {

class EnginePlan {
 public:
  struct Part {
    std::string scope;  // with what is inside of it; `*` stands for any letters
    EngineChoice engine;
  };

  EnginePlan() = default;
  explicit EnginePlan(std::vector<Part> parts);
  /// Reads "encoder=scan, body=scan:chunk=64, *=backprop", or one engine for everything: "scan".
  /// Parts are separated by a comma and a space, or by a semicolon; a comma alone goes on with the
  /// options of an engine. The first part that a scope fits counts. Throws InvalidArgument.
  static EnginePlan parse(std::string_view text);

  const std::vector<Part>& parts() const& { return parts_; }
  std::vector<Part> parts() && { return std::move(parts_); }
  /// Returns whether it is one engine for everything.
  bool is_for_all() const { return parts_.size() == 1 && parts_[0].scope == "*"; }
  /// Returns the index of the part that a scope belongs to, or -1.
  int part_of(std::string_view scope) const;
  std::string str() const;

 private:
  std::vector<Part> parts_;
};

/// Splits a list of engines to compare, each with options of its own: "backprop,scan:chunk=64".
/// Plans for several parts are separated by `|`.
std::vector<std::string> split_engines(std::string_view text);

/// Returns whether a scope is the one that `pattern` names, or within it.
bool is_in_scope(std::string_view scope, std::string_view pattern);

}  // namespace antichain
