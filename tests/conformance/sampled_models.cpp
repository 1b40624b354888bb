// The models that engines which compute some units of wide layers are held against
// back-propagation on.
#include <algorithm>
#include <cmath>
#include <random>

#include "antichain/nn/wide.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/conformance/engine_checks.h"

namespace antichain::conformance {

namespace {

constexpr std::int64_t kUnits = 96, kFeatures = 6, kOutputExamples = 60, kHiddenExamples = 12;

// Numbers that do not depend on what else the graph draws, so that graphs with engines and without
// have the same parameters.
Var fixed_normal(Graph& graph, const Shape& shape, unsigned seed, double deviation) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> draw(0, deviation);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  std::ranges::generate(values, [&] { return draw(generator); });
  return constant(graph, Tensor::of<double>(shape, values));
}

nn::Initialiser fixed_weight(unsigned seed) {
  return [seed](Graph& graph, DType, const Dims& shape) {
    const std::int64_t features = shape[1].constant();
    const double deviation = std::sqrt(2 / static_cast<double>(features));
    return fixed_normal(graph, {shape[0].constant(), features}, seed, deviation);
  };
}

Var features_of(Graph& graph, std::int64_t examples) {
  return parameter("x", fixed_normal(graph, {examples, kFeatures}, 3, 1));
}

// One true label for most examples, two for every fifth one, none for the last; a few labels, so
// that those of a batch are not all that is looked at.
nn::LabelSets some_labels(Graph& graph, std::int64_t examples) {
  std::vector<std::int64_t> labels, starts = {0};
  for (std::int64_t i = 0; i + 1 < examples; ++i) {
    const std::vector<std::int64_t> own = sampled_labels(i);
    labels.insert(labels.end(), own.begin(), own.end());
    starts.push_back(static_cast<std::int64_t>(labels.size()));
  }
  starts.push_back(starts.back());
  const auto count = static_cast<std::int64_t>(labels.size());
  return {.labels = constant(graph, Tensor::of<std::int64_t>({count}, labels)),
          .row_starts = constant(graph, Tensor::of<std::int64_t>({examples + 1}, starts))};
}

Var output_layer(Graph& graph, const std::string& engine) {
  return nn::wide_losses(features_of(graph, kOutputExamples), {kUnits},
                         some_labels(graph, kOutputExamples),
                         {.name = "out", .engine = engine, .weight = fixed_weight(11)});
}

// The active units of one layer are what the next one sees.
Var hidden_layers(Graph& graph, const std::string& engine) {
  return nn::wide_losses(features_of(graph, kHiddenExamples), {kUnits, 24, kUnits},
                         some_labels(graph, kHiddenExamples),
                         {.name = "mlp", .engine = engine, .weight = fixed_weight(13)});
}

}  // namespace

std::vector<std::int64_t> sampled_labels(std::int64_t example) {
  const std::int64_t label = example % 4 * 23;
  return example % 5 == 0 ? std::vector{label, label + 11} : std::vector{label};
}

const std::vector<SampledModel>& sampled_models() {
  static const std::vector<SampledModel> models = {
      {"output layer", kUnits, true, kOutputExamples, output_layer},
      {"hidden layers", kUnits, false, kHiddenExamples, hidden_layers},
  };
  return models;
}

}  // namespace antichain::conformance
