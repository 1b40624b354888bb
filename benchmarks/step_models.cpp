#include "benchmarks/step_models.h"

#include "antichain/optim/gradient_step.h"
#include "benchmarks/op_case.h"
#include "benchmarks/picture_models.h"

namespace antichain::bench {

namespace {

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kColours = 3, kSide = 32;  // of pictures

Tensor labels(std::int64_t count, std::int64_t classes = kClasses) {
  Tensor result = Tensor::empty(i64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    result.data<std::int64_t>()[i] = i % classes;
  }
  return result;
}

Var input(Graph& graph, const char* name, const Shape& shape, DType precision) {
  const std::vector<DimSpec> dims(shape.begin(), shape.end());
  return cast(graph.input(name, f32, dims), precision);
}

Var classification_loss(Var logits) {
  const Var label = logits.graph().input("label", i64, {logits.dim(0)});
  return mean(nn::cross_entropy(logits, label));
}

// Of a model of x that gives logits for a batch.
StepModel classifier(const Shape& shape, std::int64_t batch, const Optimiser& optimiser,
                     const std::function<Var(Var x)>& logits) {
  const auto loss = [=](Graph& graph, DType precision) {
    return classification_loss(logits(input(graph, "x", shape, precision)));
  };
  return {loss, optimiser, {{"x", numbers(f32, shape)}, {"label", labels(batch)}}};
}

Csr as_constant(Graph& graph, const data::SparseRows& rows, DType precision) {
  data::Batch parts;
  rows.put(parts, "m");
  return {.values = constant(graph, parts.at("m_values").cast(precision)),
          .columns = constant(graph, parts.at("m_columns")),
          .row_starts = constant(graph, parts.at("m_row_starts")),
          .num_columns = rows.num_columns()};
}

}  // namespace

std::vector<Var> sgd(Var loss) { return optim::sgd(loss, {.lr = 0.01}); }
std::vector<Var> momentum(Var loss) { return optim::sgd(loss, {.lr = 0.01, .momentum = 0.9}); }
std::vector<Var> adam(Var loss) { return optim::adam(loss, {.lr = 0.001}); }

std::vector<Var> keep_gradients(Var loss) {
  Graph& graph = loss.graph();
  const std::vector<Var> parameters = optim::trained_parameters("keep_gradients", loss, {});
  const std::vector<Var> gradients = grad(loss, parameters);
  std::vector<Var> updates;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = state_name(parameters[i]) + ".gradient";
    buffer(name, zeros(graph, gradients[i].dtype(), gradients[i].shape()));
    updates.push_back(assign(graph, name, gradients[i]));
  }
  return updates;
}

StepModel mlp(std::int64_t batch, const std::vector<std::int64_t>& widths,
              const Optimiser& optimiser) {
  constexpr std::int64_t kInputs = 784;
  return classifier({batch, kInputs}, batch, optimiser, [=](Var x) { return nn::mlp(x, widths); });
}

StepModel gru(std::int64_t steps, std::int64_t batch, std::int64_t inputs, std::int64_t hidden) {
  return classifier({steps, batch, inputs}, batch, sgd, [=](Var xs) {
    return nn::linear(index(nn::gru(xs, hidden).last, 0, 0), kClasses);
  });
}

StepModel resnet(std::int64_t batch) {
  return classifier({batch, kColours, kSide, kSide}, batch, momentum,
                    [](Var x) { return resnet18(x, kClasses); });
}

StepModel mobilenet(std::int64_t batch) {
  return classifier({batch, kColours, kSide, kSide}, batch, momentum,
                    [](Var x) { return mobilenet(x, kClasses); });
}

StepModel transformer(std::int64_t batch, std::int64_t steps, std::int64_t width,
                      std::int64_t heads, const Optimiser& optimiser) {
  const Shape shape = {batch, steps, width};
  const auto loss = [=](Graph& graph, DType precision) {
    const Var x = input(graph, "x", shape, precision);
    const Var target = input(graph, "target", shape, nn::wide_type(precision));
    return mean(nn::mse(nn::widened(nn::transformer_block(x, {.heads = heads})), target));
  };
  return {loss, optimiser, {{"x", numbers(f32, shape)}, {"target", numbers(f32, shape)}}};
}

StepModel gpt(std::int64_t batch, const GptSizes& sizes) {
  const auto loss = [=](Graph& graph, DType precision) {
    const Var tokens = graph.input("tokens", i64, {batch, sizes.steps});
    const Var next = graph.input("next", i64, {batch, sizes.steps});
    const Var places =
        parameter("places", random_normal(graph, f32, {sizes.steps, sizes.width}) * 0.02);
    Var x = cast(nn::embedding(tokens, sizes.vocabulary, sizes.width) + places, precision);
    for (std::int64_t n = 0; n < sizes.layers; ++n) {
      x = nn::transformer_block(
          x, {.name = "block_" + std::to_string(n), .heads = sizes.heads, .causal = true});
    }
    const Var logits = nn::linear(nn::layer_norm(x), sizes.vocabulary);
    return mean(nn::cross_entropy(logits, next));
  };
  const auto tokens = [&](std::int64_t first) {
    Tensor result = Tensor::empty(i64, {batch, sizes.steps});
    for (std::int64_t i = 0; i < result.numel(); ++i) {
      result.data<std::int64_t>()[i] = (first + i) * 7 % sizes.vocabulary;
    }
    return result;
  };
  return {loss, adam, {{"tokens", tokens(0)}, {"next", tokens(1)}}};
}

StepModel gcn(const GraphSizes& sizes, std::int64_t hidden) {
  const auto loss = [=](Graph& graph, DType precision) {
    const Csr adjacency = as_constant(graph, random_edges(sizes), precision);
    const Csr words = as_constant(graph, random_words(sizes), precision);
    const Var x = relu(nn::gcn(adjacency, words, hidden, {.name = "gcn_1"}));
    return classification_loss(nn::gcn(adjacency, x, sizes.classes, {.name = "gcn_2"}));
  };
  return {loss, adam, {{"label", labels(sizes.nodes, sizes.classes)}}};
}

StepModel ode_net(std::int64_t batch, std::int64_t width, std::int64_t depth) {
  const Shape shape = {batch, width};
  const auto loss = [=](Graph& graph, DType precision) {
    const Var x = input(graph, "x", shape, precision);
    const double step = 1 / static_cast<double>(depth);
    return mean(square(nn::widened(nn::residual(x, depth, {.step = step}).last)));
  };
  return {loss, keep_gradients, {{"x", numbers(f32, shape)}}};
}

StepModel gradient_penalty(std::int64_t batch) {
  const Shape shape = {batch, kColours, kSide, kSide};
  const auto loss = [=](Graph& graph, DType precision) {
    const Var x = input(graph, "x", shape, precision);
    Var y = x;
    for (const std::int64_t channels : {64, 128, 256}) {
      y = silu(nn::conv2d(
          y, channels, {3, 3},
          {.name = "conv_" + std::to_string(channels), .stride = {2, 2}, .padding = {1, 1}}));
    }
    const Var score = nn::linear(reshape(y, {batch, numel(y.shape()).constant() / batch}), 1);
    const Var slope = sqrt(sum(square(grad(score, x)), {1, 2, 3}));
    constexpr double kPenalty = 10;
    return nn::widened(mean(score) + kPenalty * mean(square(slope - 1)));
  };
  return {loss, adam, {{"x", numbers(f32, shape)}}};
}

StepModel towers(std::int64_t count, std::int64_t layers, std::int64_t width, std::int64_t batch) {
  return classifier({batch, width}, batch, adam, [=](Var x) {
    const std::vector<std::int64_t> widths(static_cast<std::size_t>(layers), width);
    Var sum = nn::mlp(x, widths, {.name = "tower_0"});
    for (std::int64_t n = 1; n < count; ++n) {
      sum = sum + nn::mlp(x, widths, {.name = "tower_" + std::to_string(n)});
    }
    return nn::linear(sum, kClasses);
  });
}

StepModel gru_both_ways(std::int64_t steps, std::int64_t batch, std::int64_t inputs,
                        std::int64_t hidden) {
  return classifier({steps, batch, inputs}, batch, sgd, [=](Var xs) {
    const Var there = index(nn::gru(xs, hidden, {.name = "there"}).last, 0, 0);
    const Var back = index(nn::gru(xs, hidden, {.name = "back", .reverse = true}).last, 0, 0);
    return nn::linear(concat({there, back}, 1), kClasses);
  });
}

}  // namespace antichain::bench
