// Gradients by scans on a GPU, with the values of the CPU. Recurrent layers are scanned with
// weights and diagonals; other chains have no kernel for scans and are walked step by step.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/conformance/compare.h"

namespace antichain {
namespace {

using Layer = std::function<Var(Var xs)>;

std::vector<Tensor> gradients(const SessionOptions& options, const Layer& layer,
                              std::int64_t time = 37) {
  constexpr std::int64_t kBatch = 5, kIn = 3;
  Session session(options);
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f32, {"time", "batch", kIn});
  const Var loss = mean(square(layer(xs)));
  std::vector<Var> wanted = parameters(graph);
  wanted.push_back(xs);
  std::vector<float> values(static_cast<std::size_t>(time * kBatch * kIn));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i));
  }
  return session
      .compile(grad(loss, wanted))({{"xs", Tensor::of<float>({time, kBatch, kIn}, values)}})
      .tensors();
}

void expect_values_of_the_cpu(const Layer& layer) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const std::vector<Tensor> want = gradients({.always_scan = true}, layer);
  for (const bool always : {false, true}) {
    const std::vector<Tensor> got = gradients({.device = "cuda", .always_scan = always}, layer);
    for (std::size_t i = 0; i < want.size(); ++i) {
      conformance::expect_close(got[i], want[i], 1e-5, "gradient " + std::to_string(i));
    }
  }
}

// All phases, with chunks that divide the steps and chunks that do not.
TEST(CudaScan, OfWeightsInChunks) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  constexpr std::int64_t kTime = 700;
  for (const std::int64_t units : {1, 6, 20, 32}) {
    const nn::RecurrentOptions options{.engine = "scan"};
    const std::pair<const char*, Layer> layers[] = {
        {"rnn", [=](Var xs) { return nn::rnn(xs, units, options).all; }},
        {"gru", [=](Var xs) { return nn::gru(xs, units, options).all; }},
        {"lstm", [=](Var xs) { return nn::lstm(xs, units, options).all; }}};
    for (const auto& [name, layer] : layers) {
      const std::vector<Tensor> want = gradients({}, layer, kTime);
      for (const std::int64_t chunk : {0, 7, 16, 100, 700}) {
        SCOPED_TRACE(std::string(name) + " of " + std::to_string(units) + ", chunks of " +
                     std::to_string(chunk));
        const std::vector<Tensor> got = gradients(
            {.device = "cuda", .scan_algorithm = chunk > 0 ? "chunked" : "", .scan_chunk = chunk},
            layer, kTime);
        for (std::size_t i = 0; i < want.size(); ++i) {
          conformance::expect_close(got[i], want[i], 2e-5, "gradient " + std::to_string(i));
        }
      }
    }
  }
}

TEST(CudaScan, OfDiagonals) {
  expect_values_of_the_cpu([](Var xs) { return nn::min_gru(xs, 7, {.engine = "scan"}); });
}

TEST(CudaScan, OfMatrices) {
  expect_values_of_the_cpu([](Var xs) { return nn::gru(xs, 6, {.engine = "scan"}).all; });
}

// Stages with sparse Jacobians, whose products have a kernel.
TEST(CudaScan, OfStages) {
  expect_values_of_the_cpu([](Var xs) {
    const Var x = reshape(xs, {xs.dim(0) * xs.dim(1), 1, 3, 1});
    const auto body = [&] {
      const Var h = nn::conv2d(x, 4, {2, 1}, {.padding = {1, 0}});
      const Var pooled = max_pool(tanh(h), {.window = {2, 1}});
      return Vars{nn::linear(reshape(relu(pooled), {x.dim(0), 8}), 5)};
    };
    return call(xs.graph(), body, {"scan"})[0];
  });
}

}  // namespace
}  // namespace antichain
