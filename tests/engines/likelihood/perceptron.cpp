#include "tests/engines/likelihood/perceptron.h"

#include <cmath>
#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::likelihood_tests {

namespace {

Var normal_constant(Graph& graph, const Shape& shape, unsigned seed, double deviation,
                    DType dtype) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> draw(0, deviation);
  Numbers values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = draw(generator);
  }
  return constant(graph, Tensor::of<double>(shape, values).cast(dtype));
}

}  // namespace

Var Perceptron::build(Graph& graph) const {
  Var x = cast(graph.input("x", dtype, {"batch", features}), dtype);
  const Var labels = graph.input("labels", DType::i64, {"batch"});
  std::int64_t before = features;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const ScopeGuard scope(graph, "layer_" + std::to_string(i));
    const double deviation = 1.2 / std::sqrt(static_cast<double>(before));
    const auto seed = static_cast<unsigned>(10 + i);
    const Var weight =
        parameter("weight", normal_constant(graph, {before, widths[i]}, seed, deviation, dtype));
    const Var bias = parameter("bias", normal_constant(graph, {widths[i]}, seed + 100, 0.3, dtype));
    x = matmul(x, weight) + bias;
    if (i + 1 < widths.size()) {
      x = activation ? activation(x) : tanh(x);
    }
    before = widths[i];
  }
  return losses ? losses(x, labels) : nn::cross_entropy(x, labels);
}

std::vector<Numbers> gradients(const Perceptron& model, const std::string& engine, int runs,
                               std::uint64_t seed) {
  Session session({.seed = static_cast<std::int64_t>(seed)});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse(engine));
  const Var losses = model.build(graph);
  const Executable run = session.compile(grad(mean(losses), parameters(graph), {.at = {losses}}));
  std::mt19937_64 generator(3);
  std::normal_distribution<double> draw(0, 1);
  Numbers x(static_cast<std::size_t>(model.examples * model.features));
  for (double& value : x) {
    value = draw(generator);
  }
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < model.examples; ++i) {
    labels.push_back(i % model.widths.back());
  }
  std::vector<Numbers> rows;
  for (int i = 0; i < runs; ++i) {
    Numbers row;
    const Feeds feeds = {
        {"x", Tensor::of<double>({model.examples, model.features}, x).cast(model.dtype)},
        {"labels", Tensor::of<std::int64_t>({model.examples}, labels)}};
    const std::vector<Tensor> results = run(feeds).tensors();
    for (const Tensor& gradient : results) {
      const Numbers values = gradient.cast(f64).to_vector<double>();
      row.insert(row.end(), values.begin(), values.end());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Numbers mean_of(const std::vector<Numbers>& rows) {
  Numbers mean(rows[0].size());
  for (const Numbers& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      mean[i] += row[i] / static_cast<double>(rows.size());
    }
  }
  return mean;
}

double cosine(const Numbers& a, const Numbers& b) {
  double product = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
    of_a += a[i] * a[i];
    of_b += b[i] * b[i];
  }
  return product / std::sqrt(of_a * of_b);
}

double relative_error(const Numbers& got, const Numbers& want) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

}  // namespace antichain::likelihood_tests
