#include "antichain/nn/wide.h"

#include "antichain/autodiff/engine.h"
#include "antichain/nn/layer.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/wide/wide_layers.h"

namespace antichain::nn {

namespace {

Var build_wide(std::string_view kind, Var x, const std::vector<std::int64_t>& widths,
               const LabelRows& truth, const WideOptions& options) {
  require(x.valid(), "{}: there is no x", kind);
  require(!widths.empty(), "{}: needs the width of at least one layer", kind);
  Graph& graph = x.graph();
  const ScopeGuard scope(graph, options.name);
  Dim features = require_features(kind, x);
  WideLayers parts{.x = x, .layers = {}, .truth = truth, .training = options.training};
  for (std::size_t i = 0; i < widths.size(); ++i) {
    require_positive(kind, "a width", widths[i]);
    const Layer layer(kind, x, std::to_string(i));
    parts.layers.push_back({layer.parameter("weight", {widths[i], features}, options.weight),
                            layer.parameter("bias", {widths[i]}, constant(0))});
    features = widths[i];
  }
  const std::string engine = graph.engine_for(options.engine);
  if (!engine.empty() && graph.engines()) {
    const EngineChoice choice(engine);
    graph.engines()->find(choice.name()).add_own_states(parts, choice);
  }
  return wide_layers(parts, engine);
}

}  // namespace

Var wide_mlp(Var x, const std::vector<std::int64_t>& widths, const WideOptions& options,
             Place place) {
  const UserCall call(x, place);
  return build_wide("wide_mlp", x, widths, {}, options);
}

Var wide_losses(Var x, const std::vector<std::int64_t>& widths, const LabelSets& truth,
                const WideOptions& options, Place place) {
  const UserCall call(x, place);
  require(!truth.multi_hot.valid(), "wide_losses: give labels with row_starts, not multi_hot");
  require_label_rows("wide_losses", truth);
  return build_wide("wide_losses", x, widths, {truth.labels, truth.row_starts}, options);
}

}  // namespace antichain::nn
