// Gradients by runs with noise on a GPU: the draws and the gradients of the CPU, nothing on the
// host.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/backends_cuda/host_ops.h"

namespace antichain::likelihood_test {

class CudaLikelihood : public GpuTest {};

struct Model {
  std::function<Var(Graph&)> losses;  // of the examples
  Feeds feeds;
};

struct Found {
  std::vector<double> gradients;  // of all parameters, in a row
  std::vector<std::string> on_host;
};

// Of the second of two runs: the first one starts what is learned.
Found run_on(const std::string& device, const Model& model, const std::string& engine) {
  Session session({.device = device, .seed = 3});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse(engine));
  const Var losses = model.losses(graph);
  const Executable step = session.compile(grad(mean(losses), parameters(graph), {.at = {losses}}));
  step(model.feeds);
  HostOps on_host;
  Found found;
  const std::vector<Tensor> gradients = step.run(model.feeds, {&on_host}).tensors();
  for (const Tensor& gradient : gradients) {
    const std::vector<double> values = gradient.cast(f64).to_vector<double>();
    found.gradients.insert(found.gradients.end(), values.begin(), values.end());
  }
  found.on_host = on_host.names;
  return found;
}

double relative_error(const std::vector<double>& got, const std::vector<double>& want) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

// Nothing runs on the host but the op of that name.
void expect_as_on_the_cpu(const Model& model, const std::vector<std::string>& settings,
                          std::string_view host_op = "nothing") {
  for (const std::string& setting : settings) {
    SCOPED_TRACE(setting);
    const std::string engine = "likelihood:sigma=0.1," + setting;
    const Found cpu = run_on("cpu", model, engine), gpu = run_on("cuda", model, engine);
    for (const std::string& op : gpu.on_host) {
      EXPECT_TRUE(op.starts_with(host_op)) << op;
    }
    EXPECT_LT(relative_error(gpu.gradients, cpu.gradients), 2e-3);
  }
}

Tensor waves(const Shape& shape) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    values.push_back(std::sin(static_cast<float>(i % 1009 * (i % 31))));
  }
  return Tensor::of<float>(shape, values);
}

Tensor classes(const Shape& shape, std::int64_t of) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    values.push_back(i * i % of);
  }
  return Tensor::of<std::int64_t>(shape, values);
}

TEST_F(CudaLikelihood, Perceptrons) {
  const Model model{[](Graph& graph) {
                      Var x = graph.input("x", f32, {"n", 20});
                      x = relu(nn::linear(x, 24, {.name = "first"}));
                      x = relu(nn::linear(x, 16, {.name = "second"}));
                      return nn::cross_entropy(nn::linear(x, 4, {.name = "out"}),
                                               graph.input("y", i64, {"n"}));
                    },
                    {{"x", waves({40, 20})}, {"y", classes({40}, 4)}}};
  expect_as_on_the_cpu(
      model, {"copies=16", "mode=layer,copies=32", "mode=full,copies=32",
              "mode=layer,noise=gaussian,copies=8", "mode=full,noise=gaussian,copies=8,at_once=2",
              "mode=full,noise=laplace,copies=8,baseline=leave-one-out",
              "mode=layer,noise=rademacher,copies=8,at_once=4,antithetic=yes",
              "mode=layer,copies=8,feedback=yes", "mode=full,copies=8,feedback=yes,noise=gaussian",
              "mode=layer,copies=8,watch=1", "mode=weights,noise=gaussian,copies=8",
              "mode=weights,noise=rademacher,copies=8,at_once=2", "mode=forward,copies=8",
              "mode=forward,noise=gaussian,copies=8,at_once=2"});
}

TEST_F(CudaLikelihood, RecurrentLayers) {
  const Model model{
      [](Graph& graph) {
        const Var xs = nn::embedding(graph.input("words", i64, {9, "n"}), 30, 8, {.name = "words"});
        const Var last = index(nn::gru(xs, 12, {.name = "gru"}).all, 0, 8);
        return nn::cross_entropy(nn::linear(last, 4, {.name = "out"}),
                                 graph.input("y", i64, {"n"}));
      },
      {{"words", classes({9, 16}, 30)}, {"y", classes({16}, 4)}}};
  expect_as_on_the_cpu(model, {"copies=16", "mode=layer,noise=gaussian,copies=8",
                               "mode=full,copies=16,at_once=4", "cut=gru,copies=16"});
}

TEST_F(CudaLikelihood, Images) {
  const Model model{[](Graph& graph) {
                      Var x = graph.input("x", f32, {"n", 1, 8, 8});
                      for (const char* name : {"first", "second"}) {
                        const ScopeGuard scope(graph, name);
                        x = nn::conv2d(x, 6, {3, 3}, {.name = "conv", .padding = {1, 1}});
                        x = relu(nn::batch_norm(x, {.name = "norm", .training = true}));
                      }
                      return nn::cross_entropy(nn::linear(mean(x, {2, 3}), 4, {.name = "out"}),
                                               graph.input("y", i64, {"n"}));
                    },
                    {{"x", waves({12, 1, 8, 8})}, {"y", classes({12}, 4)}}};
  expect_as_on_the_cpu(model,
                       {"mode=layer,copies=16", "mode=full,noise=gaussian,copies=8",
                        "mode=full,copies=16,at_once=4", "copies=16"},
                       "batch_norm_gradient ");
}

// Lists of keys are drawn from as one key after another is.
TEST_F(CudaLikelihood, DrawsAreThoseOfTheCpu) {
  const auto draws_on = [](const std::string& device) {
    Session session({.device = device, .seed = 5});
    Graph graph = session.graph();
    const Var numbers = iota(graph, i64, 1001);
    const Var keys = fold_in(random_key(graph), numbers);
    const Executable run = session.compile(
        {keys, fold_in(keys, 3), fold_in(keys, numbers), random_bernoulli(graph, 0.3, {33}, {keys}),
         random_uniform(graph, f32, {5, 7}, {keys}), random_uniform(graph, f64, {1}, {keys})});
    return run({}).tensors();
  };
  const std::vector<Tensor> cpu = draws_on("cpu"), gpu = draws_on("cuda");
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_TRUE(bit_equal(cpu[i], gpu[i])) << i;
  }
}

}  // namespace antichain::likelihood_test
