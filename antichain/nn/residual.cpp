#include "antichain/nn/residual.h"

#include <cmath>

#include "antichain/nn/layer.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::nn {

namespace {

constexpr std::int64_t kWindow = 3;

// What the dense and the convolutional layer differ in.
struct Kind {
  std::string_view name;
  Dims weight;  // the shape of one layer's
  Dims bias;    // likewise, as it is added
  std::function<Var(Var u, Var weight)> product;
};

Chain run_residual(Var u, std::int64_t layers, const Kind& kind, const Layer& layer,
                   const ResidualOptions& options) {
  require_positive(kind.name, "layers", layers);
  require(options.activation != nullptr, "{}: the activation is empty", kind.name);
  require(std::isfinite(options.step) && options.step > 0, "{}: step must be above 0, got {}",
          kind.name, options.step);
  Vars stacked = {
      layer.used(layer.stacked_parameter("weight", layers, kind.weight, options.weight))};
  if (options.bias) {
    const Dims shape = {layers, kind.bias[0]};
    stacked.push_back(layer.used(layer.parameter("bias", shape, constant(0))));
  }
  const auto body = [&](Var, const Vars& states, const Vars& parameters) -> StepResult {
    Var sum = kind.product(layer.used(states[0]), parameters[0]);
    if (options.bias) {
      sum = sum + reshape(parameters[1], kind.bias);
    }
    const Var next = states[0] + options.step * widened(options.activation(sum));
    return {{next}, {next}};
  };
  const ChainResult result = chain({widened(u)}, stacked, body, {.engine = options.engine});
  return {layer.used(result.last[0]), layer.used(result.ys[0])};
}

}  // namespace

Chain residual(Var u, std::int64_t layers, const ResidualOptions& options, Place place) {
  const UserCall call(u, place);
  const Layer layer("residual", u, options.name);
  const Dim width = require_features("residual", u);
  return run_residual(u, layers,
                      {.name = "residual",
                       .weight = {width, width},
                       .bias = {width},
                       .product = [](Var x, Var weight) { return matmul(x, weight); }},
                      layer, options);
}

Chain residual_conv(Var u, std::int64_t layers, const ResidualOptions& options, Place place) {
  const UserCall call(u, place);
  const Layer layer("residual_conv", u, options.name);
  require<ShapeError>(u.rank() == 4 && u.dim(1).is_constant() && u.dim(1).constant() > 0,
                      "residual_conv: u must be [samples, channels, height, width] with a known "
                      "number of channels, its shape is {}",
                      to_string(u.shape()));
  const Dim channels = u.dim(1);
  const Ints same = {kWindow / 2, kWindow / 2};
  return run_residual(
      u, layers,
      {.name = "residual_conv",
       .weight = {channels, channels, kWindow, kWindow},
       .bias = {channels, 1, 1},
       .product = [&](Var x, Var weight) { return conv(x, weight, {.padding = same}); }},
      layer, options);
}

}  // namespace antichain::nn
