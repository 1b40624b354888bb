#include "antichain/nn/normalization.h"

#include <cmath>

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::nn {

namespace {

void require_epsilon(std::string_view kind, double epsilon) {
  require(std::isfinite(epsilon) && epsilon > 0, "{}: epsilon must be above 0, got {}", kind,
          epsilon);
}

// Where `usable` is given and says no, a statistic stays.
Var moved(Var running, Var batch, double momentum, Var usable) {
  const Var next = (1 - momentum) * running + momentum * batch;
  return assign(running.graph(), state_name(running),
                usable.valid() ? select(usable, next, running) : next);
}

}  // namespace

Var batch_norm(Var x, const BatchNormOptions& options, Place place) {
  const UserCall call(x, place);
  const Layer layer("batch_norm", x, options.name);
  require<ShapeError>(x.rank() >= 2 && x.dim(1).is_constant() && x.dim(1).constant() > 0,
                      "batch_norm: x must be [samples, channels, ...] with a known number of "
                      "channels, its shape is {}",
                      to_string(x.shape()));
  require_epsilon("batch_norm", options.epsilon);
  require(options.momentum >= 0 && options.momentum <= 1,
          "batch_norm: momentum must be within [0, 1], got {}", options.momentum);
  Graph& graph = x.graph();
  require(!options.training || graph.current_region() == kRootRegion,
          "batch_norm: running statistics cannot be updated inside a chain, loop or cond");
  const Dims channels = {x.dim(1)};
  const Var scale = layer.parameter("scale", channels, constant(1));
  const Var bias = layer.parameter("bias", channels, constant(0));
  const Var running_mean = layer.buffer("running_mean", channels, 0);
  const Var running_var = layer.buffer("running_var", channels, 1);
  if (!options.training) {
    return batch_norm_inference(x, scale, bias, running_mean, running_var, options.epsilon);
  }
  const BatchNorm norm = antichain::batch_norm(x, scale, bias, options.epsilon);
  const Var count = cast(dim_value(graph, numel(x.shape()) / x.dim(1)), scale.dtype());
  const Var unbiased = norm.variance * (count / maximum(count - 1, 1));
  // f16 overflows on the way here now and then. Loss scaling leaves such a step out, and one batch
  // must not spoil the statistics of all that follow.
  const Var usable =
      x.dtype() == DType::f16 ? logical_and(is_finite(norm.mean), is_finite(norm.variance)) : Var();
  return after_writes(norm.output, {moved(running_mean, norm.mean, options.momentum, usable),
                                    moved(running_var, unbiased, options.momentum, usable)});
}

Var layer_norm(Var x, const LayerNormOptions& options, Place place) {
  const UserCall call(x, place);
  const Layer layer("layer_norm", x, options.name);
  require<ShapeError>(options.axes >= 1 && options.axes <= x.rank(),
                      "layer_norm: cannot normalise {} axes of a value of shape {}", options.axes,
                      to_string(x.shape()));
  require_epsilon("layer_norm", options.epsilon);
  const Dims normalised(x.shape().end() - options.axes, x.shape().end());
  for (Dim dim : normalised) {
    require<ShapeError>(dim.is_constant(),
                        "layer_norm: the normalised axes must have known sizes, they are {}",
                        to_string(normalised));
  }
  const Var scale = layer.parameter("scale", normalised, constant(1));
  const Var bias = layer.parameter("bias", normalised, constant(0));
  return as_type(antichain::layer_norm(widened(x), scale, bias, options.axes, options.epsilon),
                 x.dtype());
}

}  // namespace antichain::nn
