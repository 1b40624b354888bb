#include "antichain/nn/linear.h"

#include "antichain/nn/layer.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::nn {

Var linear(Var x, std::int64_t out_features, const LinearOptions& options, Place place) {
  const UserCall call(x, place);
  const Layer layer("linear", x, options.name);
  const Dim in_features = require_features("linear", x);
  require_positive("linear", "out_features", out_features);
  const Var weight = layer.parameter("weight", {in_features, out_features}, options.weight);
  const Var product = matmul(x, layer.used(weight));
  if (!options.bias) {
    return product;
  }
  const auto start = [&](Graph& graph, DType dtype, const Dims& shape) {
    return options.bias_start ? options.bias_start(weight) : zeros(graph, dtype, shape);
  };
  return product + layer.used(layer.parameter("bias", {out_features}, start));
}

Var mlp(Var x, const std::vector<std::int64_t>& widths, const MlpOptions& options, Place place) {
  const UserCall call(x, place);
  require(x.valid(), "mlp: there is no x");
  require(!widths.empty(), "mlp: needs the width of at least one layer");
  require(options.activation != nullptr, "mlp: the activation is empty");
  const ScopeGuard scope(x.graph(), options.name);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    x = linear(i == 0 ? x : options.activation(x), widths[i],
               {.name = std::to_string(i),
                .bias = options.bias,
                .weight = options.weight,
                .bias_start = options.bias_start});
  }
  return x;
}

Var maxout(Var x, std::int64_t out_features, const MaxoutOptions& options, Place place) {
  const UserCall call(x, place);
  require_positive("maxout", "pieces", options.pieces);
  require_positive("maxout", "out_features", out_features);
  const Var all = linear(x, out_features * options.pieces,
                         {.name = options.name, .bias = options.bias, .weight = options.weight});
  Dims shape = x.shape();
  shape.back() = out_features;
  shape.push_back(options.pieces);
  return max(reshape(all, shape), {-1});
}

}  // namespace antichain::nn
