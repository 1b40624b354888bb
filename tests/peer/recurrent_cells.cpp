#include "tests/peer/recurrent_cells.h"

#include "antichain/ops/elementwise.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/slicing.h"

namespace antichain::peer {

namespace {

Var linear(Var x, Var weight, Var bias) { return matmul(x, weight, {.transpose_b = true}) + bias; }

Vars gates(Var packed, std::size_t count, Var state) {
  return split(packed, Dims(count, state.dim(-1)), -1);
}

}  // namespace

Chain gru(Var xs, Var state, std::span<const Var> parameters, const ChainOptions& options) {
  const auto cell = [=](Var h, Var x) {
    const Vars from_x = gates(linear(x, parameters[0], parameters[2]), 3, h);
    const Vars from_h = gates(linear(h, parameters[1], parameters[3]), 3, h);
    const Var reset = sigmoid(from_x[0] + from_h[0]);
    const Var keep = sigmoid(from_x[1] + from_h[1]);
    const Var candidate = tanh(from_x[2] + reset * from_h[2]);
    return (1 - keep) * candidate + keep * h;
  };
  return chain(state, xs, cell, options);
}

Vars lstm(Var xs, Var h, Var c, std::span<const Var> parameters) {
  const auto cell = [=](Var, const Vars& states, const Vars& slices) -> StepResult {
    const Var sums = linear(slices[0], parameters[0], parameters[2]) +
                     linear(states[0], parameters[1], parameters[3]);
    const Vars gate = gates(sums, 4, states[0]);
    const Var next_c = sigmoid(gate[1]) * states[1] + sigmoid(gate[0]) * tanh(gate[2]);
    const Var next_h = sigmoid(gate[3]) * tanh(next_c);
    return {{next_h, next_c}, {next_h}};
  };
  const ChainResult result = chain({h, c}, {xs}, cell);
  return {result.ys[0], result.last[0], result.last[1]};
}

}  // namespace antichain::peer
