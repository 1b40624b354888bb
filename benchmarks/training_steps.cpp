#include "benchmarks/training_steps.h"

#include <random>
#include <utility>

#include "antichain/data/cora.h"
#include "benchmarks/op_case.h"
#include "benchmarks/resnet.h"

namespace antichain::bench {

namespace {

constexpr std::int64_t kClasses = 10;

Tensor labels(std::int64_t count, std::int64_t classes = kClasses) {
  Tensor result = Tensor::empty(i64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    result.data<std::int64_t>()[i] = i % classes;
  }
  return result;
}

Var classification_loss(Var logits) {
  const Var label = logits.graph().input("label", i64, {logits.dim(0)});
  return mean(nn::cross_entropy(logits, label));
}

using Optimiser = std::function<std::vector<Var>(Var loss)>;
const Optimiser kSgd = [](Var loss) { return optim::sgd(loss, {.lr = 0.01}); };
const Optimiser kMomentum = [](Var loss) {
  return optim::sgd(loss, {.lr = 0.01, .momentum = 0.9});
};
const Optimiser kAdam = [](Var loss) { return optim::adam(loss, {.lr = 0.001}); };

// What a step is compiled from; the loss is built later, by a function that has no references.
struct Steps {
  std::function<Var(Graph&)> build;
  Optimiser optimiser;
  Feeds feeds;
};

std::function<TrainingStep(const OptimiserOptions&, const std::string&)> compiled(
    std::function<Steps()> make) {
  return [make = std::move(make)](const OptimiserOptions& options,
                                  const std::string& device) -> TrainingStep {
    Steps steps = make();
    auto session = std::make_unique<Session>(SessionOptions{.device = device});
    Graph graph = session->graph();
    const Var loss = steps.build(graph);
    Executable executable =
        session->compile({loss}, {.updates = steps.optimiser(loss), .optimiser = options});
    return {std::move(session), std::move(executable), std::move(steps.feeds)};
  };
}

Steps mlp(std::int64_t batch, const std::vector<std::int64_t>& widths, const Optimiser& optimiser,
          DType precision = f32) {
  constexpr std::int64_t kInputs = 784;
  const auto build = [=](Graph& graph) {
    const Var x = cast(graph.input("x", f32, {batch, kInputs}), precision);
    return classification_loss(nn::mlp(x, widths));
  };
  return {build, optimiser, {{"x", numbers(f32, {batch, kInputs})}, {"label", labels(batch)}}};
}

Steps gru(std::int64_t steps, std::int64_t batch, std::int64_t inputs, std::int64_t hidden) {
  const auto build = [=](Graph& graph) {
    const Var xs = graph.input("xs", f32, {steps, batch, inputs});
    return classification_loss(nn::linear(index(nn::gru(xs, hidden).last, 0, 0), kClasses));
  };
  return {build, kSgd, {{"xs", numbers(f32, {steps, batch, inputs})}, {"label", labels(batch)}}};
}

Steps resnet(std::int64_t batch, DType precision) {
  constexpr std::int64_t kSide = 32;
  const auto build = [=](Graph& graph) {
    const Var x = cast(graph.input("x", f32, {batch, 3, kSide, kSide}), precision);
    return classification_loss(resnet18(x, kClasses));
  };
  return {
      build, kMomentum, {{"x", numbers(f32, {batch, 3, kSide, kSide})}, {"label", labels(batch)}}};
}

Steps transformer(std::int64_t batch, std::int64_t steps, std::int64_t width, std::int64_t heads,
                  DType precision) {
  const Shape shape = {batch, steps, width};
  const auto build = [=](Graph& graph) {
    const Var x = graph.input("x", f32, {batch, steps, width});
    const Var target = graph.input("target", f32, {batch, steps, width});
    const Var y = nn::transformer_block(cast(x, precision), {.heads = heads});
    return mean(nn::mse(cast(y, f32), target));
  };
  return {build, kAdam, {{"x", numbers(f32, shape)}, {"target", numbers(f32, shape)}}};
}

// The sizes of a citation graph.
struct GraphSizes {
  std::int64_t nodes, edges, features, words, classes;
};
constexpr GraphSizes kCora = {
    .nodes = 2708, .edges = 5278, .features = 1433, .words = 49216, .classes = 7};

data::SparseRows random_edges(const GraphSizes& sizes) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> node(0, sizes.nodes - 1);
  std::vector<data::Edge> edges;
  for (std::int64_t i = 0; i < sizes.edges; ++i) {
    edges.emplace_back(node(random), node(random));
  }
  return data::normalised_adjacency(sizes.nodes, edges);
}

data::SparseRows random_words(const GraphSizes& sizes) {
  std::mt19937 random(2);
  std::bernoulli_distribution present(static_cast<double>(sizes.words) /
                                      static_cast<double>(sizes.nodes * sizes.features));
  data::SparseRows rows(sizes.features);
  for (std::int64_t node = 0; node < sizes.nodes; ++node) {
    std::vector<std::int32_t> columns;
    for (std::int64_t column = 0; column < sizes.features; ++column) {
      if (present(random)) {
        columns.push_back(static_cast<std::int32_t>(column));
      }
    }
    rows.add(columns, std::vector<float>(columns.size(), 1.0F));
  }
  return rows;
}

Csr as_constant(Graph& graph, const data::SparseRows& rows) {
  data::Batch parts;
  rows.put(parts, "m");
  return {.values = constant(graph, parts.at("m_values")),
          .columns = constant(graph, parts.at("m_columns")),
          .row_starts = constant(graph, parts.at("m_row_starts")),
          .num_columns = rows.num_columns()};
}

Steps gcn(const GraphSizes& sizes, std::int64_t hidden) {
  const auto build = [=](Graph& graph) {
    const Csr adjacency = as_constant(graph, random_edges(sizes));
    const Csr words = as_constant(graph, random_words(sizes));
    const Var x = relu(nn::gcn(adjacency, words, hidden, {.name = "gcn_1"}));
    return classification_loss(nn::gcn(adjacency, x, sizes.classes, {.name = "gcn_2"}));
  };
  return {build, kAdam, {{"label", labels(sizes.nodes, sizes.classes)}}};
}

Steps towers(std::int64_t count, std::int64_t layers, std::int64_t width, std::int64_t batch) {
  const auto build = [=](Graph& graph) {
    const Var x = graph.input("x", f32, {batch, width});
    const std::vector<std::int64_t> widths(static_cast<std::size_t>(layers), width);
    Var sum = nn::mlp(x, widths, {.name = "tower_0"});
    for (std::int64_t n = 1; n < count; ++n) {
      sum = sum + nn::mlp(x, widths, {.name = "tower_" + std::to_string(n)});
    }
    return classification_loss(nn::linear(sum, kClasses));
  };
  return {build, kAdam, {{"x", numbers(f32, {batch, width})}, {"label", labels(batch)}}};
}

Steps gru_both_ways(std::int64_t steps, std::int64_t batch, std::int64_t inputs,
                    std::int64_t hidden) {
  const auto build = [=](Graph& graph) {
    const Var xs = graph.input("xs", f32, {steps, batch, inputs});
    const Var there = index(nn::gru(xs, hidden, {.name = "there"}).last, 0, 0);
    const Var back = index(nn::gru(xs, hidden, {.name = "back", .reverse = true}).last, 0, 0);
    return classification_loss(nn::linear(concat({there, back}, 1), kClasses));
  };
  return {build, kSgd, {{"xs", numbers(f32, {steps, batch, inputs})}, {"label", labels(batch)}}};
}

StepCase one(std::string name, std::function<Steps()> make) {
  return {std::move(name), compiled(std::move(make))};
}

}  // namespace

std::vector<StepCase> training_steps() {
  return {
      one("mlp 784-512-512-10 B=128 sgd",
          [] {
            return mlp(128, {512, 512, 10}, kSgd);
          }),
      one("mlp 784-1024-1024-10 B=128 adam",
          [] {
            return mlp(128, {1024, 1024, 10}, kAdam);
          }),
      one("mlp 784-1024-1024-10 B=8192 adam",
          [] {
            return mlp(8192, {1024, 1024, 10}, kAdam);
          }),
      one("mlp 784-1024-1024-10 B=8192 adam bf16",
          [] {
            return mlp(8192, {1024, 1024, 10}, kAdam, bf16);
          }),
      one("gru T=128 B=64 inputs=9 h=64", [] { return gru(128, 64, 9, 64); }),
      one("gru T=128 B=64 inputs=512 h=512", [] { return gru(128, 64, 512, 512); }),
      one("gcn nodes=2708 inputs=1433 h=16 adam", [] { return gcn(kCora, 16); }),
      one("resnet18 32x32 B=64", [] { return resnet(64, f32); }),
      one("resnet18 32x32 B=64 bf16", [] { return resnet(64, bf16); }),
      one("transformer d=768 heads=12 T=1024 B=8 adam",
          [] { return transformer(8, 1024, 768, 12, f32); }),
      one("transformer d=768 heads=12 T=1024 B=8 adam bf16",
          [] { return transformer(8, 1024, 768, 12, bf16); }),
  };
}

std::vector<StepCase> branching_steps() {
  return {
      one("2 towers of 8 layers, 64 wide, B=32", [] { return towers(2, 8, 64, 32); }),
      one("4 towers of 4 layers, 128 wide, B=64", [] { return towers(4, 4, 128, 64); }),
      one("2 towers of 4 layers, 1024 wide, B=256", [] { return towers(2, 4, 1024, 256); }),
      one("gru both ways T=64 B=16 inputs=16 h=32", [] { return gru_both_ways(64, 16, 16, 32); }),
      one("gru both ways T=128 B=64 inputs=64 h=256",
          [] { return gru_both_ways(128, 64, 64, 256); }),
  };
}

}  // namespace antichain::bench
