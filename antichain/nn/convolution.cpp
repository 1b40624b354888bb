#include "antichain/nn/convolution.h"

#include "antichain/nn/layer.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::nn {

Var conv2d(Var x, std::int64_t out_channels, const Ints& window, const Conv2dOptions& options,
           Place place) {
  const UserCall call(x, place);
  const Layer layer("conv2d", x, options.name);
  require<ShapeError>(x.rank() == 4 && x.dim(1).is_constant() && x.dim(1).constant() > 0,
                      "conv2d: x must be [samples, channels, height, width] with a known number of "
                      "channels, its shape is {}",
                      to_string(x.shape()));
  require_positive("conv2d", "out_channels", out_channels);
  require(window.size() == 2 && window[0] > 0 && window[1] > 0,
          "conv2d: the window must be a height and a width above 0, got {}",
          to_string(to_dims(window)));
  const std::int64_t channels = x.dim(1).constant(), groups = options.groups;
  require(groups > 0 && channels % groups == 0 && out_channels % groups == 0,
          "conv2d: {} groups do not divide {} channels into {}", groups, channels, out_channels);
  const Var weight = layer.parameter(
      "weight", {out_channels, channels / groups, window[0], window[1]}, options.weight);
  const Var product = conv(x, layer.used(weight),
                           {.stride = options.stride,
                            .padding = options.padding,
                            .dilation = options.dilation,
                            .groups = groups});
  if (!options.bias) {
    return product;
  }
  const Var bias = layer.parameter("bias", {out_channels}, constant(0));
  return product + reshape(layer.used(bias), {out_channels, 1, 1});
}

Var global_avg_pool(Var x, Place place) {
  const UserCall call(x, place);
  require<ShapeError>(x.rank() >= 3,
                      "global_avg_pool: x must be [samples, channels, spatial...], its shape is {}",
                      to_string(x.shape()));
  Ints axes;
  for (int axis = 2; axis < x.rank(); ++axis) {
    axes.push_back(axis);
  }
  return mean(x, axes);
}

}  // namespace antichain::nn
