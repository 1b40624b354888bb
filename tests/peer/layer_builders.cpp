// Convolution, pooling, softmax and norms.
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/rows/normalization.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

ConvOptions conv_options(const Case& c) {
  return {.stride = c.ints("stride"),
          .padding = c.ints("padding"),
          .dilation = c.ints("dilation"),
          .groups = c.get<std::int64_t>("groups", 1)};
}

PoolOptions pool_options(const Case& c) {
  return {.window = c.ints("window"), .stride = c.ints("stride"), .padding = c.ints("padding")};
}

double epsilon(const Case& c) { return c.get<double>("epsilon"); }

Builders window_builders() {
  return {
      {"conv",
       [](const Case& c, const Vars& in) -> Vars {
         return {conv(in.at(0), in.at(1), conv_options(c))};
       }},
      {"conv_transpose",
       [](const Case& c, const Vars& in) -> Vars {
         return {conv_transpose(in.at(0), in.at(1), conv_options(c), c.ints("output_padding"))};
       }},
      {"conv_input_gradient",
       [](const Case& c, const Vars& in) -> Vars {
         return {conv_input_gradient(in.at(0), in.at(1), c.dims("spatial"), conv_options(c))};
       }},
      {"conv_weight_gradient",
       [](const Case& c, const Vars& in) -> Vars {
         return {conv_weight_gradient(in.at(0), in.at(1), c.dims("spatial"), conv_options(c))};
       }},
      {"max_pool",
       [](const Case& c, const Vars& in) -> Vars {
         const MaxPool pool = max_pool_with_indices(in.at(0), pool_options(c));
         return {pool.values, pool.indices};
       }},
      {"avg_pool",
       [](const Case& c, const Vars& in) -> Vars {
         return {avg_pool(in.at(0), pool_options(c), c.get<bool>("count_padding"))};
       }},
  };
}

Builders norm_builders() {
  return {
      {"softmax",
       [](const Case& c, const Vars& in) -> Vars { return {softmax(in.at(0), axis(c))}; }},
      {"log_softmax",
       [](const Case& c, const Vars& in) -> Vars { return {log_softmax(in.at(0), axis(c))}; }},
      {"cross_entropy",
       [](const Case&, const Vars& in) -> Vars { return {cross_entropy(in.at(0), in.at(1))}; }},
      {"layer_norm",
       [](const Case& c, const Vars& in) -> Vars {
         return {layer_norm(in.at(0), in.at(1), in.at(2), c.get<std::int64_t>("axes"), epsilon(c))};
       }},
      {"batch_norm",
       [](const Case& c, const Vars& in) -> Vars {
         const BatchNorm norm = batch_norm(in.at(0), in.at(1), in.at(2), epsilon(c));
         return {norm.output, norm.mean, norm.variance};
       }},
      {"batch_norm_inference",
       [](const Case& c, const Vars& in) -> Vars {
         return {
             batch_norm_inference(in.at(0), in.at(1), in.at(2), in.at(3), in.at(4), epsilon(c))};
       }},
  };
}

}  // namespace

Builders layer_builders() {
  Builders table = window_builders();
  table.merge(norm_builders());
  return table;
}

}  // namespace antichain::peer
