// Recurrent cells written out, for the derivative tests.
#pragma once

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

/// Cho et al. (2014): weights are [input, 3·hidden] and [hidden, 3·hidden], gates reset, update,
/// new.
inline Var gru_cell(Var h, Var x, Var input_weight, Var hidden_weight, Dim hidden) {
  const std::vector<Var> a = split(matmul(x, input_weight), {hidden, hidden, hidden}, 1);
  const std::vector<Var> b = split(matmul(h, hidden_weight), {hidden, hidden, hidden}, 1);
  const Var reset = sigmoid(a[0] + b[0]), update = sigmoid(a[1] + b[1]);
  const Var fresh = tanh(a[2] + reset * b[2]);
  return update * h + (1 - update) * fresh;
}

struct LstmState {
  Var h, c;
};
/// Hochreiter and Schmidhuber (1997) with forget gates: weights are [input, 4·hidden] and
/// [hidden, 4·hidden], gates input, forget, cell, output.
inline LstmState lstm_cell(LstmState state, Var x, Var input_weight, Var hidden_weight,
                           Dim hidden) {
  const std::vector<Var> gates = split(matmul(x, input_weight) + matmul(state.h, hidden_weight),
                                       {hidden, hidden, hidden, hidden}, 1);
  const Var c = sigmoid(gates[1]) * state.c + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(c), c};
}

}  // namespace antichain
