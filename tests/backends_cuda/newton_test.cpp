// Chains whose states Newton's method finds, on a GPU: the loop, the scan and the way back.
#include <gmock/gmock.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/conformance/compare.h"

namespace antichain::newton_test {

class CudaNewton : public GpuTest {};

using Layer = nn::Recurrent (*)(Var, std::int64_t, const nn::RecurrentOptions&, Place);

struct Outcome {
  std::vector<Tensor> values;  // the last state and the gradients of all parameters
  std::vector<std::string> warnings;
};

Outcome run(const std::string& device, Layer layer, const nn::RecurrentOptions& options,
            std::int64_t time = 37) {
  Outcome outcome;
  Session session({.device = device,
                   .seed = 3,
                   .logger = Logger(LogLevel::warning, [&](LogLevel, std::string_view line) {
                     outcome.warnings.emplace_back(line);
                   })});
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f32, {"time", "batch", 3});
  const Var last = layer(xs, 5, options, Place::current()).last;
  std::vector<Var> outputs = {last};
  for (Var gradient : grad(sum(square(last)), parameters(graph))) {
    outputs.push_back(gradient);
  }
  Tensor x = Tensor::empty(f32, {time, 2, 3});
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    x.data<float>()[i] = std::sin(0.7F * static_cast<float>(i));
  }
  const Executable executable = session.compile(outputs);
  executable({{"xs", x}});
  outcome.values = executable({{"xs", x}}).tensors();
  return outcome;
}

void expect_same(const Outcome& got, const Outcome& want) {
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    conformance::expect_close(got.values[i], want.values[i], 1e-4, "value " + std::to_string(i));
  }
}

TEST_F(CudaNewton, FindsTheStatesOfRecurrentLayers) {
  for (const Layer layer : {&nn::rnn, &nn::gru, &nn::lstm}) {
    for (const bool reverse : {false, true}) {
      for (const char* engine : {"scan:forward=newton,when=never", "scan:forward=newton"}) {
        const Outcome got = run("cuda", layer, {.reverse = reverse, .engine = engine});
        EXPECT_THAT(got.warnings, testing::IsEmpty());
        expect_same(got, run("cpu", layer, {.reverse = reverse}));
      }
    }
  }
}

// Long enough for scans in chunks.
TEST_F(CudaNewton, FindsTheStatesOfLongSequences) {
  for (const Layer layer : {&nn::rnn, &nn::gru}) {
    const Outcome got = run("cuda", layer, {.engine = "scan:forward=newton"}, 1500);
    EXPECT_THAT(got.warnings, testing::IsEmpty());
    expect_same(got, run("cpu", layer, {}, 1500));
  }
}

TEST_F(CudaNewton, FallsBackAndSaysSoOnce) {
  const char* hopeless = "scan:forward=newton,tolerance=1e-30,iterations=2";
  const Outcome got = run("cuda", &nn::rnn, {.engine = hopeless});
  EXPECT_THAT(got.warnings, testing::ElementsAre(testing::HasSubstr("has not converged")));
  expect_same(got, run("cpu", &nn::rnn, {}));
}

}  // namespace antichain::newton_test
