#include "antichain/nn/layer.h"

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::nn {

namespace {

Var require_input(std::string_view kind, Var x) {
  require(x.valid(), "{}: there is no x", kind);
  require<TypeError>(is_float(x.dtype()), "{}: x must be floating-point, it is {}", kind,
                     name(x.dtype()));
  return x;
}

const std::string& require_name(std::string_view kind, const std::string& name) {
  require(!name.empty(), "{}: the name is empty", kind);
  return name;
}

}  // namespace

DType wide_type(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16 ? DType::f32 : dtype;
}

Var as_type(Var x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

Var widened(Var x) { return as_type(x, wide_type(x.dtype())); }

UserCall::UserCall(Var x, const Place& place) {
  if (x.valid()) {
    location_.emplace(x.graph(), place);
  }
}

Layer::Layer(std::string_view kind, Var x, const std::string& name)
    : Layer(kind, require_input(kind, x).graph(), require_input(kind, x).dtype(), name) {}

Layer::Layer(std::string_view kind, Graph& graph, DType dtype, const std::string& name)
    : graph_(graph), kind_(kind), compute_(dtype), scope_(graph, require_name(kind, name)) {
  require<TypeError>(is_float(dtype), "{}: computes in floating-point numbers, not in {}", kind,
                     antichain::name(dtype));
}

void Layer::require_unused(std::string_view name) const {
  const std::string full = graph_.qualify(name);
  require(graph_.find_state(full) == nullptr,
          "{}: there is already a parameter '{}'; give this layer another name", kind_, full);
}

void Layer::require_initialiser(std::string_view name, const Initialiser& initialiser) const {
  require(initialiser != nullptr, "{}: the initialiser of '{}' is empty", kind_,
          graph_.qualify(name));
}

Var Layer::parameter(std::string_view name, const Dims& shape,
                     const Initialiser& initialiser) const {
  require_unused(name);
  require_initialiser(name, initialiser);
  const RegionSwitch at_root(graph_);
  return antichain::parameter(name, initialiser(graph_, wide_type(compute_), shape));
}

// Draws inside a chain are different at every step.
Var Layer::stacked_parameter(std::string_view name, std::int64_t count, const Dims& shape,
                             const Initialiser& initialiser) const {
  require_initialiser(name, initialiser);
  Dims stacked = shape;
  stacked.insert(stacked.begin(), count);
  const auto draw_all = [&](Graph& graph, DType dtype, const Dims&) {
    const auto draw = [&](Var, const Vars&, const Vars&) -> StepResult {
      return {{}, {initialiser(graph, dtype, shape)}};
    };
    return chain({}, {iota(graph, DType::i64, count)}, draw).ys[0];
  };
  return parameter(name, stacked, draw_all);
}

Var Layer::buffer(std::string_view name, const Dims& shape, double value) const {
  require_unused(name);
  const RegionSwitch at_root(graph_);
  return antichain::buffer(name, full(graph_, wide_type(compute_), shape, value));
}

std::int64_t require_features(std::string_view kind, Var x) {
  require<ShapeError>(x.rank() >= 2,
                      "{}: x must have an axis of samples and one of features, its shape is {}",
                      kind, to_string(x.shape()));
  require<ShapeError>(x.dim(-1).is_constant() && x.dim(-1).constant() > 0,
                      "{}: the last axis of x must have a known size above 0, its shape is {}",
                      kind, to_string(x.shape()));
  return x.dim(-1).constant();
}

void require_positive(std::string_view kind, std::string_view what, std::int64_t number) {
  require(number > 0, "{}: {} must be above 0, got {}", kind, what, number);
}

void require_fraction(std::string_view kind, std::string_view what, double number) {
  require(number >= 0 && number < 1, "{}: {} must be within [0, 1), got {}", kind, what, number);
}

void require_integers(std::string_view kind, std::string_view what, Var value) {
  require(value.valid(), "{}: there are no {}", kind, what);
  require<TypeError>(value.dtype() == DType::i32 || value.dtype() == DType::i64,
                     "{}: {} must be i32 or i64, not {}", kind, what, name(value.dtype()));
}

}  // namespace antichain::nn
