#include "antichain/nn/recurrent.h"

#include <cmath>
#include <functional>

#include "antichain/nn/layer.h"
#include "antichain/ops/control_flow.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/shape_ops.h"
#include "antichain/ops/slicing.h"

namespace antichain::nn {

namespace {

// What one kind of recurrent layer has of its own.
struct Cell {
  std::string_view kind;
  std::int64_t joint;      // gates that need only the sum of W x + b and U h + c
  std::int64_t apart = 0;  // gates behind those, that need both apart
  std::size_t states = 1;  // h, and what is carried beside it
  // From the states and the gates to the next states.
  std::function<Vars(const Vars& states, Var joint, Var from_x, Var from_h)> next;
};

Vars split_gates(Var gates, Var state) {
  const auto count = static_cast<std::size_t>((gates.dim(1) / state.dim(1)).constant());
  return split(gates, Dims(count, state.dim(1)), 1);
}

Cell rnn_cell() {
  return {.kind = "rnn", .joint = 1, .next = [](const Vars&, Var sum, Var, Var) {
            return Vars{tanh(sum)};
          }};
}

Cell lstm_cell() {
  return {
      .kind = "lstm", .joint = 4, .states = 2, .next = [](const Vars& states, Var sum, Var, Var) {
        const Vars gate = split_gates(sum, states[0]);
        const Var cell = sigmoid(gate[1]) * states[1] + sigmoid(gate[0]) * tanh(gate[2]);
        return Vars{sigmoid(gate[3]) * tanh(cell), cell};
      }};
}

Cell gru_cell() {
  return {.kind = "gru",
          .joint = 2,
          .apart = 1,
          .next = [](const Vars& states, Var sum, Var from_x, Var from_h) {
            const Vars gate = split_gates(sigmoid(sum), states[0]);
            const Var fresh = tanh(from_x + gate[0] * from_h);
            return Vars{fresh + gate[1] * (states[0] - fresh)};
          }};
}

// Moon and Cyr, 2022: "Parallel training of GRU networks with a multi-grid solver for long
// sequences".
Cell implicit_gru_cell(double step) {
  return {.kind = "implicit_gru",
          .joint = 2,
          .apart = 1,
          .next = [step](const Vars& states, Var sum, Var from_x, Var from_h) {
            const Vars gate = split_gates(sigmoid(sum), states[0]);
            const Var fresh = tanh(from_x + gate[0] * from_h), move = step * (1 - gate[1]);
            return Vars{(states[0] + move * fresh) / (1 + move)};
          }};
}

void require_recurrent(const Cell& cell, Var xs, std::int64_t hidden,
                       const RecurrentOptions& options) {
  require_positive(cell.kind, "hidden", hidden);
  require_positive(cell.kind, "layers", options.layers);
  require<ShapeError>(xs.rank() == 3, "{}: xs must be [{}, features], their shape is {}", cell.kind,
                      options.batch_first ? "batch, time" : "time, batch", to_string(xs.shape()));
  require(cell.states == 2 || !options.start_cell.valid(), "{}: has no cells to start from",
          cell.kind);
  require(std::isfinite(options.step) && options.step > 0, "{}: step must be above 0, got {}",
          cell.kind, options.step);
  for (Var start : {options.start, options.start_cell}) {
    require<ShapeError>(!start.valid() || start.rank() == 3,
                        "{}: a start must be [layers, batch, hidden], its shape is {}", cell.kind,
                        start.valid() ? to_string(start.shape()) : "");
  }
  if (options.lengths.valid()) {
    require_integers(cell.kind, "lengths", options.lengths);
    require<ShapeError>(options.lengths.rank() == 1,
                        "{}: lengths must be [batch], their shape is {}", cell.kind,
                        to_string(options.lengths.shape()));
  }
}

struct LayerResult {
  Var all;    // h after each step
  Vars last;  // the states after the last
};

// One layer on xs[time, batch, features].
LayerResult run_layer(const Cell& cell, const Layer& layer, Var xs, const Vars& start,
                      std::int64_t hidden, const RecurrentOptions& options) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const Initialiser draw = options.parameters ? options.parameters : uniform(-bound, bound);
  const Dim joint = cell.joint * hidden, apart = cell.apart * hidden, rows = joint + apart;
  const Var w_ih = layer.parameter("weight_ih", {rows, require_features(cell.kind, xs)}, draw);
  const Var w_hh = layer.parameter("weight_hh", {rows, hidden}, draw);
  const Var b_ih = layer.parameter("bias_ih", {rows}, draw);
  const Var b_hh = layer.parameter("bias_hh", {rows}, draw);
  // What can be added outside the chain is: W x + b, and c of the joint gates.
  const Vars inner_bias = split(b_hh, {joint, apart}, 0);
  const Var outer_bias = b_ih + pad(inner_bias[0], {0}, {apart});
  const Var from_x = matmul(xs, layer.used(w_ih), {.transpose_b = true}) + layer.used(outer_bias);
  const auto body = [&](Var step, const Vars& states, const Vars& slices) -> StepResult {
    const Var from_h = matmul(states[0], layer.used(w_hh), {.transpose_b = true});
    Vars next;
    if (cell.apart == 0) {
      next = cell.next(states, slices[0] + from_h, {}, {});
    } else {
      const Vars x = split(slices[0], {joint, apart}, 1), h = split(from_h, {joint, apart}, 1);
      next = cell.next(states, x[0] + h[0], x[1], h[1] + layer.used(inner_bias[1]));
    }
    if (options.lengths.valid()) {
      const Var inside =
          expand_dims(less(as_type(step, options.lengths.dtype()), options.lengths), 1);
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] = select(inside, next[i], states[i]);
      }
    }
    return {next, {next[0]}};
  };
  const ChainResult result =
      chain(start, {from_x}, body, {.engine = options.engine, .reverse = options.reverse});
  return {result.ys[0], result.last};
}

Recurrent run(const Cell& cell, Var xs, std::int64_t hidden, const RecurrentOptions& options) {
  const std::string name = options.name.empty() ? std::string(cell.kind) : options.name;
  const Layer layer(cell.kind, xs, name);
  require_recurrent(cell, xs, hidden, options);
  Var states = options.batch_first ? swap_axes(xs, 0, 1) : xs;
  std::vector<Vars> last(cell.states);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    Vars start;
    for (Var given : {options.start, options.start_cell}) {
      if (start.size() < cell.states) {
        start.push_back(given.valid() ? index(given, 0, i)
                                      : zeros(xs.graph(), xs.dtype(), {states.dim(1), hidden}));
      }
    }
    const auto run_in = [&](const Layer& scope) {
      return run_layer(cell, scope, states, start, hidden, options);
    };
    const LayerResult result =
        options.layers == 1 ? run_in(layer) : run_in(Layer(cell.kind, xs, std::to_string(i)));
    states = result.all;
    for (std::size_t s = 0; s < cell.states; ++s) {
      last[s].push_back(result.last[s]);
    }
  }
  return {.all = options.batch_first ? swap_axes(states, 0, 1) : states,
          .last = stack(last[0], 0),
          .last_cell = cell.states == 2 ? stack(last[1], 0) : Var()};
}

}  // namespace

Recurrent rnn(Var xs, std::int64_t hidden, const RecurrentOptions& options) {
  return run(rnn_cell(), xs, hidden, options);
}

Recurrent lstm(Var xs, std::int64_t hidden, const RecurrentOptions& options) {
  return run(lstm_cell(), xs, hidden, options);
}

Recurrent gru(Var xs, std::int64_t hidden, const RecurrentOptions& options) {
  return run(gru_cell(), xs, hidden, options);
}

Recurrent implicit_gru(Var xs, std::int64_t hidden, const RecurrentOptions& options) {
  return run(implicit_gru_cell(options.step), xs, hidden, options);
}

}  // namespace antichain::nn
