#include "antichain/nn/recurrent.h"

#include <cmath>
#include <functional>

#include "antichain/nn/layer.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::nn {

namespace {

constexpr std::string_view kGru = "gru", kImplicitGru = "implicit_gru";

// What one kind of recurrent layer has of its own.
struct Cell {
  std::string_view kind;
  std::size_t gates;
  std::size_t joint;       // gates that need only the sum of W x + b and U h + c: all, or all but
                           // the last
  std::size_t states = 1;  // h, and what is carried beside it
  // From the states, the gates of W x + b and those of U h + c to the next states. Where all gates
  // are joint the first has the sums and the second nothing.
  std::function<Vars(const Vars& states, const Vars& x, const Vars& h)> next;
};

Cell rnn_cell() {
  return {
      .kind = "rnn", .gates = 1, .joint = 1, .next = [](const Vars&, const Vars& sum, const Vars&) {
        return Vars{tanh(sum[0])};
      }};
}

Cell lstm_cell() {
  return {.kind = "lstm",
          .gates = 4,
          .joint = 4,
          .states = 2,
          .next = [](const Vars& states, const Vars& sum, const Vars&) {
            const Var cell = sigmoid(sum[1]) * states[1] + sigmoid(sum[0]) * tanh(sum[2]);
            return Vars{sigmoid(sum[3]) * tanh(cell), cell};
          }};
}

Cell gru_cell() {
  return {.kind = kGru,
          .gates = 3,
          .joint = 2,
          .next = [](const Vars& states, const Vars& x, const Vars& h) {
            const Var reset = sigmoid(x[0] + h[0]), keep = sigmoid(x[1] + h[1]);
            const Var fresh = tanh(x[2] + reset * h[2]);
            return Vars{fresh + keep * (states[0] - fresh)};
          }};
}

// Moon and Cyr, 2022: "Parallel training of GRU networks with a multi-grid solver for long
// sequences".
Cell implicit_gru_cell(double step) {
  return {.kind = kImplicitGru,
          .gates = 3,
          .joint = 2,
          .next = [step](const Vars& states, const Vars& x, const Vars& h) {
            const Var reset = sigmoid(x[0] + h[0]), keep = sigmoid(x[1] + h[1]);
            const Var fresh = tanh(x[2] + reset * h[2]);
            const Var stride = grid_stride(keep.graph(), keep.dtype());
            const Var move = step * stride * (1 - keep);
            return Vars{(states[0] + move * fresh) / (1 + move)};
          }};
}

// A gru whose steps on coarse grids are those of an implicit one.
Cell mixed_gru_cell() {
  return {.kind = kGru,
          .gates = 3,
          .joint = 2,
          .next = [](const Vars& states, const Vars& x, const Vars& h) {
            return Vars{on_coarse_grids(gru_cell().next(states, x, h)[0],
                                        implicit_gru_cell(1).next(states, x, h)[0])};
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
  require(cell.kind == kImplicitGru || options.step == 1, "{}: has no step, {} has", cell.kind,
          kImplicitGru);
  require(cell.kind == kGru || !options.implicit_on_coarse_grids,
          "{}: implicit_on_coarse_grids is for {}", cell.kind, kGru);
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
  const Dims gates(cell.gates, hidden);
  const Dim rows = numel({static_cast<std::int64_t>(cell.gates), hidden});
  const Var w_ih = layer.parameter("weight_ih", {rows, require_features(cell.kind, xs)}, draw);
  const Var w_hh = layer.parameter("weight_hh", {rows, hidden}, draw);
  const Var b_ih = layer.parameter("bias_ih", {rows}, draw);
  const Var b_hh = layer.parameter("bias_hh", {rows}, draw);
  // What can be added outside the chain is: W x + b, and c of the joint gates.
  const Dim joint = numel({static_cast<std::int64_t>(cell.joint), hidden});
  const Vars inner_bias = split(b_hh, {joint, rows - joint}, 0);
  const Var outer_bias = b_ih + pad(inner_bias[0], {0}, {rows - joint});
  const Var from_x = matmul(xs, layer.used(w_ih), {.transpose_b = true}) + layer.used(outer_bias);
  const auto body = [&](Var step, const Vars& states, const Vars& slices) -> StepResult {
    const Var from_h = matmul(states[0], layer.used(w_hh), {.transpose_b = true});
    Vars next;
    if (cell.joint == cell.gates) {
      next = cell.next(states, split(slices[0] + from_h, gates, 1), {});
    } else {
      Vars h = split(from_h, gates, 1);
      h.back() = h.back() + layer.used(inner_bias[1]);
      next = cell.next(states, split(slices[0], gates, 1), h);
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

Recurrent run_layers(const Cell& cell, Var xs, std::int64_t hidden,
                     const RecurrentOptions& options) {
  const std::string name = options.name.empty() ? std::string(cell.kind) : options.name;
  const Layer layer(cell.kind, xs, name);
  require_recurrent(cell, xs, hidden, options);
  Var states = options.batch_first ? swap_axes(xs, 0, 1) : xs;
  std::vector<Vars> last(cell.states);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    Vars start;
    for (Var given : {options.start, options.start_cell}) {
      if (start.size() < cell.states) {
        start.push_back(given.valid() ? layer.used(index(given, 0, i))
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

Recurrent rnn(Var xs, std::int64_t hidden, const RecurrentOptions& options, Place place) {
  const UserCall call(xs, place);
  return run_layers(rnn_cell(), xs, hidden, options);
}

Recurrent lstm(Var xs, std::int64_t hidden, const RecurrentOptions& options, Place place) {
  const UserCall call(xs, place);
  return run_layers(lstm_cell(), xs, hidden, options);
}

Recurrent gru(Var xs, std::int64_t hidden, const RecurrentOptions& options, Place place) {
  const UserCall call(xs, place);
  return run_layers(options.implicit_on_coarse_grids ? mixed_gru_cell() : gru_cell(), xs, hidden,
                    options);
}

Recurrent implicit_gru(Var xs, std::int64_t hidden, const RecurrentOptions& options, Place place) {
  const UserCall call(xs, place);
  return run_layers(implicit_gru_cell(options.step), xs, hidden, options);
}

}  // namespace antichain::nn
