// The topics of papers that cite each other (Kipf and Welling, 2017, section 5).
#include "antichain/data/cora.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

// A sample is a node: its number and its class. The graph itself is part of the model.
data::DatasetPtr nodes(const data::CitationGraph& graph, const std::vector<std::int64_t>& numbers) {
  const std::vector<std::int64_t> labels = graph.labels.to_vector<std::int64_t>();
  std::vector<std::int64_t> classes;
  for (const std::int64_t number : numbers) {
    classes.push_back(labels[static_cast<std::size_t>(number)]);
  }
  const Shape shape = {static_cast<std::int64_t>(numbers.size())};
  return std::make_shared<data::TensorDataset>(
      data::Batch{{"node", Tensor::of(shape, numbers)}, {"y", Tensor::of(shape, classes)}});
}

Csr as_constant(const ModelContext& context, const data::SparseRows& rows) {
  data::Batch parts;
  rows.put(parts, "m");
  return {.values = constant(context.graph, parts.at("m_values").cast(context.compute_dtype())),
          .columns = constant(context.graph, parts.at("m_columns")),
          .row_starts = constant(context.graph, parts.at("m_row_starts")),
          .num_columns = rows.num_columns()};
}

// Dropout of the features that are there: the others are 0 anyway.
Csr drop(Csr features, const nn::DropoutOptions& options) {
  features.values = nn::dropout(features.values, options);
  return features;
}

Objective build_cora(const ModelContext& context, const data::CitationGraph& graph) {
  const Settings& settings = context.settings;
  const nn::DropoutOptions dropout{.rate = settings.number("dropout"),
                                   .training = context.training};
  const Var node = context.graph.input("node", i64, {"batch"});
  const Var y = context.graph.input("y", i64, {"batch"});
  const Csr adjacency = as_constant(context, graph.adjacency);
  const Csr features = drop(as_constant(context, graph.features), dropout);
  Var x = nn::gcn(adjacency, features, settings.integer("hidden"), {.name = "gcn_1"});
  const Var first_weight = read_state(context.graph, "gcn_1.weight");
  x = nn::dropout(relu(x), dropout);
  x = nn::gcn(adjacency, x, graph.num_classes, {.name = "gcn_2"});
  const Var logits = gather(x, node, 0);
  // The paper decays the first layer only.
  return {.losses = nn::cross_entropy(logits, y),
          .hits = nn::is_correct(logits, y),
          .penalty = settings.number("l2") / 2 * sum(square(first_weight))};
}

Task prepare(const RecipeContext& context) {
  const auto graph = std::make_shared<data::CitationGraph>(data::cora(context.data_folder));
  return {.data = {.train = nodes(*graph, graph->train),
                   .validation = nodes(*graph, graph->validation),
                   .test = nodes(*graph, graph->test),
                   .num_classes = graph->num_classes,
                   .class_names = graph->class_names},
          .model = [graph](const ModelContext& model) { return build_cora(model, *graph); }};
}

}  // namespace

Recipe cora_gcn_recipe() {
  return {.name = "cora-gcn",
          .summary = "a graph convolutional network finds the topics of papers from citations",
          .options = with_training_options(
              {{"hidden", kInteger, "64", "width of the hidden layer", 1, 65536},
               {"dropout", kNumber, "0.7", "part of the values set to 0 in training", 0, 0.95},
               {"l2", kNumber, "0.0005",
                "half of it times the squared norm of the first weight is "
                "added to the loss",
                0}},
              {.epochs = "300", .batch = "140", .lr = "0.01", .patience = "100"}),
          .prepare = prepare};
}

}  // namespace antichain
