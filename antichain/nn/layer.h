// Layer: how a layer names its parameters and which types it computes in.
//
// Mixed precision is decided here and nowhere else: a layer computes in the type of its input, and
// of a 16-bit input the parameters are f32 all the same. They are cast where they are used, inside
// a chain too, so that gradients add up in f32 and optimisers and saved states never see 16 bits.
#pragma once

#include <optional>
#include <string>

#include "antichain/nn/initialisers.h"

namespace antichain::nn {

/// Returns the type of parameters, statistics and losses beside values of type `dtype`: f32 for the
/// 16-bit types, `dtype` itself otherwise.
DType wide_type(DType dtype);
/// Converts x to another type; x itself when it has that type.
Var as_type(Var x, DType dtype);
/// Converts x to the wide type of its own.
Var widened(Var x);

/// Gives what is built while it lives the place of the user's call of a layer on x; the outermost
/// call wins.
class UserCall {
 public:
  UserCall(Var x, const Place& place);

 private:
  std::optional<LocationGuard> location_;  // none without a value
};

class Layer {
 public:
  /// Begins a layer of that kind ("linear") on x; its parameters are named within `name`.
  Layer(std::string_view kind, Var x, const std::string& name);
  /// Likewise for a layer without a floating-point input, which computes in `dtype`.
  Layer(std::string_view kind, Graph& graph, DType dtype, const std::string& name);

  /// Creates a parameter and returns its value, of the wide type. It belongs to the whole graph,
  /// also when the layer is built inside a chain.
  Var parameter(std::string_view name, const Dims& shape, const Initialiser& initialiser) const;
  /// Creates one parameter [count, shape...] out of `count` draws of the initialiser.
  Var stacked_parameter(std::string_view name, std::int64_t count, const Dims& shape,
                        const Initialiser& initialiser) const;
  /// Creates a state that optimisers leave alone.
  Var buffer(std::string_view name, const Dims& shape, double value) const;
  /// Returns a parameter in the type that the layer computes in.
  Var used(Var parameter) const { return as_type(parameter, compute_); }

 private:
  void require_unused(std::string_view name) const;
  void require_initialiser(std::string_view name, const Initialiser& initialiser) const;

  Graph& graph_;
  std::string kind_;
  DType compute_;
  ScopeGuard scope_;
};

/// Requires that x has samples and features, and returns how many features.
std::int64_t require_features(std::string_view kind, Var x);
/// Requires that a number called `what` is above 0.
void require_positive(std::string_view kind, std::string_view what, std::int64_t number);
/// Requires that a number called `what` lies within [0, 1).
void require_fraction(std::string_view kind, std::string_view what, double number);
/// Requires integers, i32 or i64.
void require_integers(std::string_view kind, std::string_view what, Var value);

}  // namespace antichain::nn
