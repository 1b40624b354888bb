// One layer with its hash tables: which states the engine keeps of it, and which units are active.
#pragma once

#include <string>

#include "antichain/engines/hashing/hashing_options.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/wide/wide_layers.h"

namespace antichain::hashing {

/// The names of a layer's states. Saved are those that tables cannot be made again without.
struct StateNames {
  explicit StateNames(const std::string& prefix);
  /// Finds them by the first of the layer's own inputs.
  static StateNames of(const WideLayer& layer);

  std::string functions, largest, codes, marks;  // of hash_codes.h
  std::string starts, ids;                       // tables: derived from codes
  std::string step, next, interval;              // when rows are hashed
};

/// Declares the states of a layer that starts with this weight and bias, with names within the open
/// scope, and returns those that its op takes as inputs.
std::vector<Var> declare_states(const WideLayer& layer, std::size_t index, const Options& options);

/// What an op knows about a layer that has states.
class HashedLayer {
 public:
  HashedLayer(const WideLayer& layer, const Options& options);

  const Options& options() const { return options_; }
  HashBy hash() const { return {options_.spec, layer_.own[0], layer_.own[1]}; }
  HashTables tables() const { return {layer_.own[2], layer_.own[3]}; }
  Var step() const { return layer_.own[4]; }
  /// Chooses active units for inputs x[examples, features]. The same op for the same x, whoever
  /// asks.
  ActiveUnits active(Var x, const LabelRows& truth) const;

 private:
  const WideLayer& layer_;
  Options options_;
};

}  // namespace antichain::hashing
