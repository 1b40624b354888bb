// Recurrent layers: one chain over time per layer, whose gradient any engine may compute.
//
// With the input x and the state h of a step, W·x being computed for all steps at once:
//   rnn           h⁺ = tanh(W x + b + U h + c)
//   lstm          i, f, g, o = W x + b + U h + c;  C⁺ = σ(f) C + σ(i) tanh(g),  h⁺ = σ(o) tanh(C⁺)
//   gru           r = σ(W_r x + b_r + U_r h + c_r), z likewise,
//                 n = tanh(W_n x + b_n + r (U_n h + c_n)),  h⁺ = (1 - z) n + z h
//   implicit_gru  z' = step (1 - z),  h⁺ = (h + z' n) / (1 + z'): gru as an implicit Euler step of
//                 h' = (1 - z)(n - h), stable for steps of any size; the coarse grids of engine
//                 multigrid take longer ones
// Gates lie behind each other in this order (rnn: one; lstm: i f g o; gru: r z n), as in PyTorch.
// Parameters: "<name>.weight_ih" W [gates * hidden, in], "<name>.weight_hh" U [gates * hidden,
// hidden], "<name>.bias_ih" b, "<name>.bias_hh" c [gates * hidden]; of several layers
// "<name>.0.weight_ih", "<name>.1.weight_ih", ….
#pragma once

#include <string>

#include "antichain/nn/initialisers.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::nn {

struct RecurrentOptions {
  std::string name = {};        // empty: the name of the function
  std::int64_t layers = 1;      // each reads the states of the one before
  bool batch_first = false;     // xs[batch, time, features] instead of xs[time, batch, features]
  bool reverse = false;         // from the last step to the first
  Var lengths = {};             // [batch]: steps of each sequence; those behind keep the state
  Var start = {};               // [layers, batch, hidden]; none: 0
  Var start_cell = {};          // likewise C, of lstm alone
  Initialiser parameters = {};  // empty: uniform within ±1/sqrt(hidden)
  double step = 1;              // of implicit_gru alone
  // Of gru alone: the coarse grids of engine multigrid take steps of implicit_gru instead, which do
  // not agree with it to any order. For comparison: cycles converge slowly or not at all.
  bool implicit_on_coarse_grids = false;
  EngineChoice engine = {};  // who differentiates the chains
};

struct Recurrent {
  Var all;        // the last layer's states after each step, in the layout of xs
  Var last;       // [layers, batch, hidden]: every layer's state after its last step
  Var last_cell;  // likewise C, of lstm alone
};

Recurrent rnn(Var xs, std::int64_t hidden, const RecurrentOptions& options = {},
              Place place = Place::current());
Recurrent lstm(Var xs, std::int64_t hidden, const RecurrentOptions& options = {},
               Place place = Place::current());
Recurrent gru(Var xs, std::int64_t hidden, const RecurrentOptions& options = {},
              Place place = Place::current());
Recurrent implicit_gru(Var xs, std::int64_t hidden, const RecurrentOptions& options = {},
                       Place place = Place::current());

}  // namespace antichain::nn
