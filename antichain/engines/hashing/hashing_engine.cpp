#include "antichain/engines/hashing/hashing_engine.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "antichain/engines/hashing/device_support.h"
#include "antichain/engines/hashing/hashed_forward.h"
#include "antichain/engines/hashing/hashed_inference.h"
#include "antichain/engines/hashing/hashing_cost.h"
#include "antichain/engines/hashing/hashing_updates.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/reports.h"

namespace antichain {

namespace hashing {

namespace {

// What a batch is reckoned with where nobody knows its size.
constexpr std::int64_t kUsualBatch = 128;

std::int64_t expected_examples(Var x) {
  const Dim examples = x.dim(0);
  if (examples.is_constant()) {
    return examples.constant();
  }
  return examples.expected().value_or(kUsualBatch);
}

bool has_known_size(const WideLayer& layer) {
  return layer.weight.dim(0).is_constant() && layer.weight.dim(1).is_constant();
}

class HashingEngine final : public GradientEngine {
 public:
  explicit HashingEngine(HashingDevice device) : device_(std::move(device)) {}

  std::string_view name() const override { return "hashing"; }
  std::string_view summary() const override {
    return "wide layers by the units that hash tables find, with row updates";
  }
  Guarantee guarantee() const override { return Guarantee::sampled; }
  std::vector<OptionSpec> options() const override { return option_specs(device_.kind); }

  Support supports(Op op, const std::vector<bool>&) const override {
    return &op.def() == &wide_layers_def()
               ? Support{}
               : Support::no(
                     "it hashes the layers of nn::wide_mlp and nn::wide_losses, nothing else");
  }

  void add_own_states(WideLayers& layers, const EngineChoice& choice) const override {
    const Options set = read(settings(choice));
    if (!layers.training && !set.hashed_inference) {
      return;
    }
    for (std::size_t i = 0; i < layers.layers.size(); ++i) {
      WideLayer& layer = layers.layers[i];
      // Who asks for the values of the last layer in training wants all of them.
      if (layers.training && i + 1 == layers.layers.size() && !layers.gives_losses()) {
        continue;
      }
      if (!has_known_size(layer)) {
        continue;
      }
      const Options own =
          for_layer(set, layer.weight.dim(0).constant(), layer.weight.dim(1).constant());
      if (own.when == When::always ||
          (support_of(layer, own).yes && cost_of(own, layers.x).pays())) {
        layer.own = declare_states(layer, i, own);
      }
    }
  }

  bool replaces_forward(const Settings&) const override { return true; }

  std::optional<std::vector<Var>> forward(Op op, const ForwardContext&) const override {
    const WideLayers parts = parts_of_wide_layers(op);
    if (!is_hashed(parts)) {
      return std::nullopt;
    }
    if (!parts.training) {
      return std::vector<Var>{output_of(op, parts)};
    }
    const Computed computed = compute_active(parts, read(settings(op)));
    const Var output = with_report(computed.output, "active_share", computed.active_share);
    return std::vector<Var>{with_report(output, "found_share", computed.found_share)};
  }

  std::vector<Var> differentiate(VjpContext& context) const override {
    const Op op = context.op();
    const WideLayers parts = parts_of_wide_layers(op);
    const Var output = output_of(op, parts);
    const std::vector<Var> inputs = op.inputs();
    std::vector<Var> grads = context.walk_back(std::vector<Var>{output}, context.grads(), inputs);
    // A weight that two layers share is one value: its gradient counts once.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (std::find(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(i), inputs[i]) !=
          inputs.begin() + static_cast<std::ptrdiff_t>(i)) {
        grads[i] = Var();
      }
    }
    return grads;
  }

  std::vector<Var> updates(Op op) const override {
    const WideLayers parts = parts_of_wide_layers(op);
    std::vector<Var> writes;
    if (!parts.training || !is_hashed(parts)) {
      return writes;
    }
    const Options set = read(settings(op));
    // What the gradient has built already: the same ops.
    const std::vector<ActiveUnits> units = compute_active(parts, set).units;
    for (std::size_t i = 0; i < parts.layers.size(); ++i) {
      if (!parts.layers[i].own.empty()) {
        const HashedLayer hashed(parts.layers[i], set);
        const std::vector<Var> own =
            layer_updates(parts.layers[i], hashed, units[i], device_.takes_whole_steps);
        writes.insert(writes.end(), own.begin(), own.end());
      }
    }
    return writes;
  }

  RowUpdates row_updates(Op op, int input) const override {
    if (&op.def() != &wide_layers_def()) {
      return RowUpdates::none;
    }
    for (const WideLayer& layer : parts_of_wide_layers(op).layers) {
      if (layer.weight == op.input(input) || layer.bias == op.input(input)) {
        return layer.own.empty() ? RowUpdates::none : read(settings(op)).updates;
      }
    }
    return RowUpdates::none;
  }

  std::string explain(Op op) const override {
    const WideLayers parts = parts_of_wide_layers(op);
    const Options set = read(settings(op));
    std::vector<std::string> layers;
    for (const WideLayer& layer : parts.layers) {
      if (!has_known_size(layer)) {
        layers.push_back("dense: its size is not known");
        continue;
      }
      const Options own =
          for_layer(set, layer.weight.dim(0).constant(), layer.weight.dim(1).constant());
      const Support support = support_of(layer, own);
      layers.push_back(support.yes || !layer.own.empty()
                           ? describe(own, cost_of(own, parts.x), !layer.own.empty())
                           : fmt::format("dense: {}", support.reason));
    }
    return fmt::format("{}", fmt::join(layers, "; "));
  }

 private:
  Options read(const Settings& set) const { return read_options(set, device_.kind); }
  Support support_of(const WideLayer& layer, const Options& own) const {
    return device_support(device_, own, layer.weight.dtype());
  }
  LayerCost cost_of(const Options& own, Var x) const {
    return layer_cost(own, expected_examples(x), device_.kind);
  }

  Var output_of(Op op, const WideLayers& parts) const {
    if (!is_hashed(parts)) {
      return op.def().decompose(op)[0];
    }
    const Options set = read(settings(op));
    return parts.training         ? compute_active(parts, set).output
           : parts.gives_losses() ? compute_active(parts, for_inference(set)).output
                                  : compute_values(parts, for_inference(set));
  }

  static bool is_hashed(const WideLayers& parts) {
    return std::ranges::any_of(parts.layers, [](const WideLayer& l) { return !l.own.empty(); });
  }

  HashingDevice device_;
};

}  // namespace

}  // namespace hashing

std::unique_ptr<GradientEngine> make_hashing_engine(HashingDevice device) {
  return std::make_unique<hashing::HashingEngine>(std::move(device));
}

}  // namespace antichain
