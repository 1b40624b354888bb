// Layers with parameters and losses; recurrent layers and attention have files of their own.
#include "antichain/nn/convolution.h"
#include "antichain/nn/embedding.h"
#include "antichain/nn/graph_layers.h"
#include "antichain/nn/linear.h"
#include "antichain/nn/losses.h"
#include "antichain/nn/normalization.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/peer/builders.h"
#include "tests/peer/parameters.h"

namespace antichain::peer {

namespace {

Vars build_mlp(const Case&, const Vars& in) {
  const Var y = nn::mlp(in.at(0), {in.at(1).dim(1).constant(), in.at(3).dim(1).constant()},
                        {.activation = tanh});
  return with_parameters({y}, std::span(in).subspan(1));
}

Vars build_maxout(const Case& c, const Vars& in) {
  const auto pieces = c.get<std::int64_t>("pieces");
  const Var y = nn::maxout(in.at(0), in.at(1).dim(1).constant() / pieces, {.pieces = pieces});
  return with_parameters({y}, std::span(in).subspan(1));
}

Vars build_conv2d(const Case& c, const Vars& in) {
  const Var weight = in.at(1);
  const Var y = nn::conv2d(in.at(0), weight.dim(0).constant(),
                           {weight.dim(2).constant(), weight.dim(3).constant()},
                           {.stride = c.ints("stride"),
                            .padding = c.ints("padding"),
                            .groups = c.get<std::int64_t>("groups", 1)});
  return with_parameters({y}, std::span(in).subspan(1));
}

// Its output and the running statistics that the run leaves behind.
Vars build_batch_norm_layer(const Case& c, const Vars& in) {
  const Var y = nn::batch_norm(in.at(0), {.training = true, .momentum = c.get<double>("momentum")});
  Vars outputs = with_parameters({y}, std::span(in).subspan(1));
  for (const char* name : {"batch_norm.running_mean", "batch_norm.running_var"}) {
    outputs.push_back(read_state(y.graph(), name));
  }
  return outputs;
}

Vars build_embedding_bag_layer(const Case& c, const Vars& in) {
  const Var table = in.at(2);
  nn::EmbeddingBagOptions options{
      .mode = c.get<std::string>("mode") == "sum" ? BagMode::sum : BagMode::mean, .dtype = f64};
  (in.at(0).rank() == 1 ? options.offsets : options.lengths) = in.at(1);
  const Var y = nn::embedding_bag(in[0], table.dim(0).constant(), table.dim(1).constant(), options);
  return with_parameters({y}, std::span(in).subspan(2));
}

Vars build_gcn(const Case&, const Vars& in) {
  const Csr adjacency{in.at(0), in.at(1), in.at(2), in.at(3).dim(0)};
  return with_parameters({nn::gcn(adjacency, in[3], in.at(4).dim(1).constant())},
                         std::span(in).subspan(4));
}

Vars build_cross_entropy_loss(const Case& c, const Vars& in) {
  nn::CrossEntropyOptions options{.label_smoothing = c.get<double>("smoothing")};
  if (c.attributes.contains("ignore")) {
    options.ignore = c.get<std::int64_t>("ignore");
  }
  const auto weights = c.get("weights", std::vector<double>{});
  if (!weights.empty()) {
    const Shape shape = {static_cast<std::int64_t>(weights.size())};
    options.weights = constant(in.at(0).graph(), Tensor::of(shape, weights));
  }
  return {nn::cross_entropy(in.at(0), in.at(1), options)};
}

}  // namespace

Builders nn_builders() {
  return {
      {"mlp", build_mlp},
      {"maxout", build_maxout},
      {"conv2d", build_conv2d},
      {"batch_norm_layer", build_batch_norm_layer},
      {"embedding_bag_layer", build_embedding_bag_layer},
      {"gcn", build_gcn},
      {"cross_entropy_loss", build_cross_entropy_loss},
      {"mse", [](const Case&, const Vars& in) -> Vars { return {nn::mse(in.at(0), in.at(1))}; }},
      {"binary_cross_entropy",
       [](const Case&, const Vars& in) -> Vars {
         return {nn::binary_cross_entropy(in.at(0), in.at(1))};
       }},
      {"multi_label",
       [](const Case&, const Vars& in) -> Vars {
         const nn::LabelSets truth{.labels = in.at(1), .row_starts = in.at(2)};
         return {nn::multi_label_softmax(in.at(0), truth), nn::multi_label_binary(in[0], truth)};
       }},
  };
}

}  // namespace antichain::peer
