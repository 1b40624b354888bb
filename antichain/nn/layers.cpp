#include "antichain/nn/layers.h"

#include "antichain/ops/creation.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/state_ops.h"

namespace antichain::nn {

namespace {

void require_linear(Var x, std::int64_t out_features, const LinearOptions& options) {
  require(x.valid(), "linear: there is no x");
  require<ShapeError>(x.rank() >= 2,
                      "linear: x must have an axis of samples and one of features, its shape is {}",
                      to_string(x.shape()));
  require<ShapeError>(x.dim(-1).is_constant() && x.dim(-1).constant() > 0,
                      "linear: the last axis of x must have a known size above 0, its shape is {}",
                      to_string(x.shape()));
  require<TypeError>(is_float(x.dtype()), "linear: x must be floating-point, it is {}",
                     name(x.dtype()));
  require(out_features > 0, "linear: out_features must be above 0, got {}", out_features);
  require(!options.name.empty(), "linear: the name is empty");
  const std::string weight = x.graph().qualify(options.name + ".weight");
  require(x.graph().find_state(weight) == nullptr,
          "linear: there is already a parameter '{}'; give this layer another name", weight);
}

// A parameter belongs to the whole graph, also when the layer is built inside a chain.
Var make_parameter(Graph& graph, std::string_view name, DType dtype, const Dims& shape,
                   const Initialiser& initialiser) {
  const RegionSwitch at_root(graph);
  return parameter(name, initialiser(graph, dtype, shape));
}

}  // namespace

Var linear(Var x, std::int64_t out_features, const LinearOptions& options) {
  require_linear(x, out_features, options);
  Graph& graph = x.graph();
  const ScopeGuard scope(graph, options.name);
  const Var weight =
      make_parameter(graph, "weight", x.dtype(), {x.dim(-1), out_features}, options.weight);
  const Var product = matmul(x, weight);
  if (!options.bias) {
    return product;
  }
  return product + make_parameter(graph, "bias", x.dtype(), {out_features}, constant(0));
}

Var mlp(Var x, const std::vector<std::int64_t>& widths, const MlpOptions& options) {
  require(x.valid(), "mlp: there is no x");
  require(!widths.empty(), "mlp: needs the width of at least one layer");
  require(options.activation != nullptr, "mlp: the activation is empty");
  const ScopeGuard scope(x.graph(), options.name);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    x = linear(i == 0 ? x : options.activation(x), widths[i],
               {.name = std::to_string(i), .bias = options.bias, .weight = options.weight});
  }
  return x;
}

}  // namespace antichain::nn
