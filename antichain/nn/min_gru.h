// A gated linear recurrence (Feng et al., 2024: "Were RNNs all we needed?"): a GRU whose gates do
// not see the state, so that steps are linear in it and the recurrence is one of diagonals:
//   z = σ(W_z x + b_z), n = W_n x + b_n,  h⁺ = (1 - z) h + z n
// Gates lie behind each other (z n). Parameters: "<name>.weight_ih" W [2 * hidden, in],
// "<name>.bias_ih" b [2 * hidden].
#pragma once

#include <string>

#include "antichain/nn/initialisers.h"

namespace antichain::nn {

struct MinGruOptions {
  std::string name = "min_gru";
  bool batch_first = false;     // xs[batch, time, features] instead of xs[time, batch, features]
  bool reverse = false;         // from the last step to the first
  Var start = {};               // [batch, hidden]; none: 0
  Initialiser parameters = {};  // empty: uniform within ±1/sqrt(hidden)
  /// Who differentiates the chain over time; empty: back-propagation. With `scan` there is no
  /// chain: a scan also finds the states, forwards.
  EngineChoice engine = {};
};

/// Returns the states after each step, in the layout of xs.
Var min_gru(Var xs, std::int64_t hidden, const MinGruOptions& options = {},
            Place place = Place::current());

}  // namespace antichain::nn
