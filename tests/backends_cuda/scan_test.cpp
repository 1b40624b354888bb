// Gradients by scans on a GPU, with the values of the CPU. Recurrent layers are scanned with
// weights and diagonals; other chains with the Jacobians of their steps.
#include <gmock/gmock.h>

#include <cmath>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/base/cache_folder.h"
#include "tests/base/temporary_folder.h"
#include "tests/conformance/compare.h"

namespace antichain::scan_test {

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
  const std::vector<Tensor> want = gradients({.engines = {"scan:when=always"}}, layer);
  for (const bool always : {false, true}) {
    const std::vector<Tensor> got =
        gradients({.device = "cuda", .engines = {always ? "scan:when=always" : "scan"}}, layer);
    for (std::size_t i = 0; i < want.size(); ++i) {
      conformance::expect_close(got[i], want[i], 1e-5, "gradient " + std::to_string(i));
    }
  }
}

// The engine with chunks of so many steps; 0: as it chooses.
EngineChoice in_chunks(std::int64_t chunk, const char* when) {
  return {"scan",
          {{"when", when}, {"algorithm", chunk > 0 ? "chunked" : "auto"}, {"chunk", chunk}}};
}

// All phases, with chunks that divide the steps and chunks that do not.
TEST(CudaScan, OfWeightsInChunks) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  constexpr std::int64_t kTime = 700;
  for (const std::int64_t units : {1, 6, 20, 32, 64}) {
    const nn::RecurrentOptions options{.engine = "scan"};
    const std::pair<const char*, Layer> layers[] = {
        {"rnn", [=](Var xs) { return nn::rnn(xs, units, options).all; }},
        {"rnn, its last state", [=](Var xs) { return nn::rnn(xs, units, options).last; }},
        {"gru", [=](Var xs) { return nn::gru(xs, units, options).all; }},
        {"lstm", [=](Var xs) { return nn::lstm(xs, units, options).all; }}};
    for (const auto& [name, layer] : layers) {
      const std::vector<Tensor> want = gradients({}, layer, kTime);
      const std::vector<std::int64_t> chunks = units > 32
                                                   ? std::vector<std::int64_t>{0, 16}
                                                   : std::vector<std::int64_t>{0, 7, 16, 100, 700};
      for (const std::int64_t chunk : chunks) {
        SCOPED_TRACE(std::string(name) + " of " + std::to_string(units) + ", chunks of " +
                     std::to_string(chunk));
        const std::vector<Tensor> got =
            gradients({.device = "cuda", .engines = {in_chunks(chunk, "faster")}}, layer, kTime);
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

// A cell that is no sum of weights that stay the same: products of states, and a norm.
Var gated(Var xs, std::int64_t units, const std::string& engine) {
  const Var inputs = nn::linear(xs, 2 * units, {.name = "in"});
  const Var weights =
      parameter("weights", random_normal(xs.graph(), xs.dtype(), {units, 2 * units}) * 0.3);
  const Var start = zeros(xs.graph(), xs.dtype(), {xs.dim(1), units});
  const auto cell = [&](Var h, Var x) {
    const std::vector<Var> parts = split(x + matmul(h * h, weights), {units, units}, -1);
    const Var z = sigmoid(parts[0]);
    const Var next = z * h + (1 - z) * tanh(parts[1] * h + 1);
    return next / sqrt(mean(square(next), {-1}, true) + 1);
  };
  return chain(start, inputs, cell, {.engine = engine}).all;
}

TEST(CudaScan, OfStepsWithoutWeights) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  for (const std::int64_t units : {6, 20, 40}) {
    for (const std::int64_t time : {1, 37, 600}) {
      SCOPED_TRACE(std::to_string(units) + " units, " + std::to_string(time) + " steps");
      const std::vector<Tensor> want = gradients(
          {}, [=](Var xs) { return gated(xs, units, ""); }, time);
      for (const std::int64_t chunk : {0, 16}) {
        const SessionOptions options{.device = "cuda", .engines = {in_chunks(chunk, "always")}};
        const std::vector<Tensor> got = gradients(
            options, [=](Var xs) { return gated(xs, units, "scan"); }, time);
        for (std::size_t i = 0; i < want.size(); ++i) {
          conformance::expect_close(got[i], want[i], 5e-5, "gradient " + std::to_string(i));
        }
      }
    }
  }
}

// Who chooses says so, and the compiled step has the scan.
TEST(CudaScan, IsExplained) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f32, {2000, 4, 3});
  const Var all = gated(xs, 8, "scan");
  const Op chain = all.producer();
  EXPECT_THAT(session.engines().find("scan").explain(chain), testing::StartsWith("by a scan: "));
  const Executable step = session.compile(grad(mean(all), parameters(graph)));
  std::vector<std::string> found;
  for (std::uint32_t id = 0; id < step.graph().num_ops(); ++id) {
    if (std::string how = session.explain(step.graph().op(OpId{id}), {}); !how.empty()) {
      found.push_back(how);
    }
  }
  EXPECT_THAT(found, testing::ElementsAre(testing::MatchesRegex(
                         "chunked with chunks of [0-9]+ steps, for 2000 steps of 4 matrices of 8 "
                         "x 8 on a GPU: step by step about .* ms, in chunks .* ms")));
}

// Which chunks are the fastest is measured once: later runs cut alike, and `explain` says so.
TEST(CudaScan, ChunksAreMeasured) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const TemporaryFolder folder;
  const CacheFolder cache(folder.path());
  const auto run = [] {
    Session session({.device = "cuda"});
    Graph graph = session.graph();
    const Var xs = graph.input("xs", f32, {3000, 4, 3});
    const Var loss = mean(nn::rnn(xs, 12, {.engine = "scan"}).all);
    const Executable step = session.compile(grad(loss, parameters(graph)));
    const std::vector<Tensor> found =
        step({{"xs", Tensor::full(f32, {3000, 4, 3}, 0.1)}}).tensors();
    std::string how;
    for (std::uint32_t id = 0; id < step.graph().num_ops(); ++id) {
      how += session.explain(step.graph().op(OpId{id}), {});
    }
    return std::pair(found, how);
  };
  const auto [first, how] = run();
  EXPECT_THAT(how, testing::HasSubstr("chunked with chunks of "));
  EXPECT_THAT(how, testing::EndsWith("on a GPU: the fastest when it was measured"));
  const auto [later, how_later] = run();
  EXPECT_EQ(how_later, how);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(bit_equal(first[i], later[i])) << i;
  }
  const CacheFolder none("");
  EXPECT_THAT(run().second, testing::EndsWith("by estimates of both"));
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

}  // namespace antichain::scan_test
