#include "tests/engines/multigrid/chains.h"

#include <cmath>
#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::multigrid_test {

namespace {

Tensor random_values(DType dtype, const Shape& shape, std::uint64_t seed, double size) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> draw(-size, size);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = draw(generator);
  }
  return Tensor::of<double>(shape, values).cast(dtype);
}

std::vector<double> flat(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& tensor : tensors) {
    const std::vector<double> values = tensor.to_vector<double>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

}  // namespace

Model residual_net(std::int64_t layers, std::int64_t width) {
  return {{{2, width}, {layers, width, width}, {layers, width}},
          [layers](const Vars& in, const ChainOptions& options) {
            const double h = 5.0 / static_cast<double>(std::max<std::int64_t>(layers, 1));
            const auto layer = [h](Var, const Vars& u, const Vars& w) -> StepResult {
              const Var next = u[0] + h * tanh(matmul(u[0], w[0]) + w[1]);
              return {{next}, {next * next}};
            };
            return chain({in[0]}, {in[1], in[2]}, layer, options);
          }};
}

Model shared_net(std::int64_t layers) {
  return {{{2, 3}, {3, 3}, {3}}, [layers](const Vars& in, ChainOptions options) {
            options.length = layers;
            const double h = 5.0 / static_cast<double>(layers);
            const auto layer = [&](Var, const Vars& u, const Vars&) -> StepResult {
              return {{u[0] + h * tanh(matmul(u[0], in[1]) + in[2])}};
            };
            return chain({in[0]}, {}, layer, options);
          }};
}

Model implicit_gru(std::int64_t steps) {
  return {
      {{2, 3}, {steps, 2, 9}, {3, 9}}, [](const Vars& in, const ChainOptions& options) {
        const auto cell = [&](Var, const Vars& s, const Vars& x) -> StepResult {
          const Vars a = split(x[0], {3, 3, 3}, 1), b = split(matmul(s[0], in[2]), {3, 3, 3}, 1);
          const Var fresh = tanh(a[2] + sigmoid(a[0] + b[0]) * b[2]);
          const Var move =
              grid_stride(in[0].graph(), in[0].dtype()) * 0.3 * (1 - sigmoid(a[1] + b[1]));
          const Var next = (s[0] + move * fresh) / (1 + move);
          return {{next}, {next * 2}};
        };
        return chain({in[0]}, {in[1]}, cell, options);
      }};
}

Outcome run(const Model& model, const ChainOptions& options,
            const SessionOptions& session_options) {
  Session session(session_options);
  Graph graph = session.graph();
  Vars in;
  Feeds feeds;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    const std::vector<DimSpec> declared(model.inputs[i].begin(), model.inputs[i].end());
    in.push_back(graph.input(name, model.dtype, declared));
    feeds[name] = random_values(model.dtype, model.inputs[i], i, model.size);
  }
  const ChainResult found = model.chain(in, options);
  Vars outputs = found.last;
  outputs.insert(outputs.end(), found.before.begin(), found.before.end());
  outputs.insert(outputs.end(), found.ys.begin(), found.ys.end());
  Var loss = scalar(graph, model.dtype, 0);
  for (Var output : outputs) {
    loss = is_float(output.dtype()) ? loss + sum(sin(output)) : loss;
  }
  const std::size_t num_values = outputs.size();
  const Vars grads = grad(loss, in, {.zero_if_unused = true});
  outputs.insert(outputs.end(), grads.begin(), grads.end());
  const std::vector<Tensor> all = session.compile(outputs)(feeds).tensors();
  const auto middle = all.begin() + static_cast<long>(num_values);
  return {{all.begin(), middle}, {middle, all.end()}};
}

EngineChoice multigrid(std::vector<EngineOption> options) {
  options.emplace_back("when", "always");
  return {"multigrid", std::move(options)};
}

double error(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  const std::vector<double> a = flat(got), b = flat(want);
  std::vector<double> difference(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference[i] = a.at(i) - b[i];
  }
  return std::sqrt(dot(difference, difference) / dot(b, b));
}

double cosine(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  const std::vector<double> a = flat(got), b = flat(want);
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

}  // namespace antichain::multigrid_test
