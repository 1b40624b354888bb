#include "antichain/passes/memory/rematerialise_chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "antichain/antichain.h"
#include "antichain/backends/cpu/cpu_backend.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/control_flow/replayed_chain.h"
#include "antichain/ops/control_flow/revolve.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/passes/memory/kept_states.h"
#include "antichain/passes/pipeline.h"
#include "tests/conformance/not_owned.h"

namespace antichain::rematerialise_chains_test {

using Builder = std::function<std::vector<Var>(Graph&)>;  // a loss, then its gradients

struct Ran {
  std::vector<Tensor> results;  // of two runs
  std::size_t memory = 0;
  std::map<std::string, std::int64_t> counts;  // of ops, in the second run
};

class Counter final : public RunObserver {
 public:
  void ran(const OpEvent& event) override {
    const bool has_product = &event.op.def() == &fused_product_def();
    ++counts[has_product ? product_of(event.op).def().name : event.op.def().name];
  }
  std::map<std::string, std::int64_t> counts;
};

Ran run(const Builder& build, const Feeds& feeds, const CompileOptions& options = {}) {
  Session session({.seed = 5});
  Graph graph = session.graph();
  const Executable step = session.compile(build(graph), options);
  verify(step.graph());
  Ran ran{.results = step(feeds).tensors()};
  Counter counter;
  const std::vector<Tensor> again = step.run(feeds, {&counter}).tensors();
  ran.results.insert(ran.results.end(), again.begin(), again.end());
  ran.counts = counter.counts;
  ran.memory = step.memory_bytes();
  return ran;
}

void expect_same_bits(const Ran& got, const Ran& want, const std::string& what) {
  ASSERT_EQ(got.results.size(), want.results.size());
  for (std::size_t i = 0; i < got.results.size(); ++i) {
    EXPECT_TRUE(bit_equal(got.results[i], want.results[i])) << what << ", result " << i;
  }
}

// Convolutions behind each other, with noise that every step draws anew.
constexpr std::int64_t kDepth = 300, kChannels = 3, kSize = 9;
constexpr std::size_t kActivation = kChannels * kSize * kSize * sizeof(float);

std::vector<Var> noisy_convolutions_of(Graph& graph, std::int64_t size) {
  const Var x = graph.input("x", f32, {1, kChannels, size, size});
  const Var w = parameter("w", 0.2 * random_normal(graph, f32, {kChannels, kChannels, 3, 3}));
  const ChainResult all = chain({x}, {},
                                [&](Var, const Vars& h, const Vars&) -> StepResult {
                                  const Var y = tanh(conv(h[0], w, {.padding = {1, 1}}));
                                  return {{y + 0.1 * random_normal(graph, f32, y.shape())}};
                                },
                                {.length = kDepth});
  const Var loss = mean(square(all.last[0]));
  const std::vector<Var> grads = grad(loss, {w, x});  // in one walk, one chain back
  return {loss, grads[0], grads[1]};
}

std::vector<Var> noisy_convolutions(Graph& graph) { return noisy_convolutions_of(graph, kSize); }

Feeds image(std::int64_t size = kSize) {
  return {{"x", Tensor::full(f32, {1, kChannels, size, size}, 0.5)}};
}

TEST(RematerialiseChains, GradientsHaveTheSameBitsAtEveryBudget) {
  const Ran plain = run(noisy_convolutions, image());
  EXPECT_GE(plain.memory, kDepth * kActivation);
  EXPECT_FALSE(plain.counts.contains("replayed_chain"));
  std::int64_t evaluations_before = 0;
  for (const std::size_t activations : {200, 100, 60, 40, 20, 12}) {
    const std::size_t budget = activations * aligned(kActivation);
    const Ran fitted = run(noisy_convolutions, image(), {.memory_budget = budget});
    expect_same_bits(fitted, plain, std::to_string(activations) + " activations");
    EXPECT_LE(fitted.memory, budget);
    EXPECT_GT(fitted.memory, budget - 2 * aligned(kActivation));
    EXPECT_EQ(fitted.counts.at("replayed_chain"), 1);
    EXPECT_GE(fitted.counts.at("conv"), evaluations_before);
    evaluations_before = fitted.counts.at("conv");
  }
}

TEST(RematerialiseChains, EvaluatesStepsAsOftenAsRevolveSays) {
  for (const std::int64_t slots : {1, 2, 5, 17, 140, 299}) {
    Session session;
    Graph graph = session.graph();
    const std::vector<Var> values = noisy_convolutions(graph);
    session.compile(values);  // gives states their initial values
    const GraphCopy program = run_passes(graph, values, {});
    const std::vector<ChainPair> pairs = find_chain_pairs(program);
    ASSERT_EQ(pairs.size(), 1U);
    GraphCopy replayed = replay_chains(program, pairs, std::vector{slots});
    const Executable step(std::move(replayed.graph), replayed.values, {},
                          not_owned(session.backend()), session.backend().kernels(),
                          session.logger(), not_owned(session.states()));
    Counter counter;
    step.run(image(), {&counter});
    // The last step is evaluated once, and every step once more when it is reversed.
    EXPECT_EQ(counter.counts.at("conv"), total_evaluations(kDepth, slots) + 1 + kDepth);
  }
}

// The goal: 10,000 convolutions with activations of 1.5625 MiB. Compiling plans the memory and runs
// nothing.
TEST(RematerialiseChains, TenThousandConvolutionsFit) {
  constexpr std::int64_t kSteps = 10'000, kPixels = 160;
  constexpr std::int64_t kBytes = 16 * kPixels * kPixels * 4;
  const auto compile = [&](bool linear, std::size_t budget) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {1, 16, kPixels, kPixels});
    const Var w = parameter("w", zeros(graph, f32, {16, 16, 3, 3}));
    const auto body = [&](Var, const Vars& h, const Vars&) -> StepResult {
      const Var y = conv(h[0], w, {.padding = {1, 1}});
      return {{h[0] + (linear ? y : relu(y))}};
    };
    const Var loss = mean(chain({x}, {}, body, {.length = kSteps}).last[0]);
    const Executable step = session.compile({loss, grad(loss, w)}, {.memory_budget = budget});
    return kept_states(step.graph(), {}).at(0);
  };
  constexpr std::size_t kSmall = 64 * 1024;  // for what is no activation: a gradient, a loss
  for (const bool linear : {true, false}) {
    // On the way back, a step that is not linear has its own result in memory, too.
    const std::size_t more = linear ? 0 : 1;
    const KeptStates twice = compile(linear, (143 + more) * kBytes + kSmall);
    const KeptStates thrice = compile(linear, (40 + more) * kBytes + kSmall);
    EXPECT_EQ(twice.state_bytes, kBytes);
    EXPECT_EQ(twice.evaluations, 2);
    EXPECT_EQ(twice.stored, 141 + 1);
    EXPECT_EQ(thrice.evaluations, 3);
    EXPECT_EQ(thrice.stored, 38 + 1);
  }
}

TEST(RematerialiseChains, TenThousandStepsRunAsOftenAsPlanned) {
  constexpr std::int64_t kSteps = 10'000;
  const Builder build = [](Graph& graph) -> std::vector<Var> {
    const Var x = graph.input("x", f32, {32});
    const Var w = parameter("w", full(graph, f32, {32}, 0.999));
    const auto body = [&](Var, const Vars& h, const Vars&) -> StepResult {
      return {{sin(h[0] * w)}};
    };
    const Var loss = mean(chain({x}, {}, body, {.length = kSteps}).last[0]);
    return {loss, grad(loss, w)};
  };
  const Feeds feeds = {{"x", Tensor::full(f32, {32}, 0.9)}};
  const Ran plain = run(build, feeds);
  for (const std::size_t activations : {150, 50, 30}) {
    const std::size_t budget = activations * 32 * sizeof(float);
    // One op for each, so that they can be counted.
    const Ran fitted = run(build, feeds, {.compiler = {.level = 1}, .memory_budget = budget});
    expect_same_bits(fitted, plain, std::to_string(activations) + " activations");
    EXPECT_LE(fitted.memory, budget);
    const std::int64_t evaluations = fitted.counts.at("sin");  // a step back takes cosines
    EXPECT_LE(evaluations,
              evaluations_per_step(kSteps, static_cast<std::int64_t>(activations) - 11) * kSteps);
    EXPECT_GT(evaluations, kSteps);
  }
}

// Weights of their own for every step, gradients of outputs, integers among the states, backwards.
std::vector<Var> recurrent(Graph& graph, bool reverse, int states) {
  const Var h = graph.input("h", f64, {"batch", 4}),
            xs = graph.input("xs", f64, {"time", "batch", 4});
  const Var w = parameter("w", random_normal(graph, f64, {4}));
  Vars initial = {h};
  for (int i = 1; i < states; ++i) {
    initial.push_back(iota(graph, i64, 3));
  }
  const auto body = [&](Var step, const Vars& s, const Vars& x) -> StepResult {
    Vars next = {tanh(s[0] * w + x[0] + 0.01 * cast(step, f64))};
    for (int i = 1; i < states; ++i) {
      next.push_back(s[static_cast<std::size_t>(i)] + step);
    }
    return {next, {sin(next[0]) * w}};
  };
  const ChainResult all = chain(initial, {xs}, body, {.reverse = reverse});
  const Var loss = mean(square(all.last[0])) + mean(all.ys[0]);
  const std::vector<Var> grads = grad(loss, {w, h, xs});
  return {loss, grads[0], grads[1], grads[2]};
}

Feeds sequence(std::int64_t time, std::int64_t batch) {
  const std::int64_t n = time * batch * 4;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(std::sin(static_cast<double>(i)));
  }
  return {{"h", Tensor::full(f64, {batch, 4}, 0.1)}, {"xs", Tensor::of({time, batch, 4}, values)}};
}

TEST(RematerialiseChains, TakesSequencesOutputsAndSeveralStates) {
  for (const bool reverse : {false, true}) {
    for (const int states : {1, 2}) {
      const Builder build = [&](Graph& graph) { return recurrent(graph, reverse, states); };
      const Ran plain = run(build, sequence(41, 5));
      CompileOptions options{.plan_sizes = {{"time", 41}, {"batch", 5}}};
      options.memory_budget = plain.memory * 13 / 20;
      const Ran fitted = run(build, sequence(41, 5), options);
      expect_same_bits(fitted, plain, "recurrent");
      EXPECT_LE(fitted.memory, *options.memory_budget);
      // At other sizes than were planned for, the results are right all the same.
      for (const std::int64_t time : {0, 1, 2, 3, 40, 90}) {
        expect_same_bits(run(build, sequence(time, 2), options), run(build, sequence(time, 2)),
                         std::to_string(time) + " steps");
      }
    }
  }
}

TEST(RematerialiseChains, SharesTheBudgetAmongChains) {
  const Builder build = [](Graph& graph) -> std::vector<Var> {
    const Var x = graph.input("x", f32, {100});
    const Var w = parameter("w", full(graph, f32, {100}, 0.3));
    const auto walk = [&](Var start, std::int64_t length) {
      return chain(
                 {start}, {},
                 [&](Var, const Vars& s, const Vars&) -> StepResult { return {{tanh(s[0] * w)}}; },
                 {.length = length})
          .last[0];
    };
    const Var loss = mean(walk(walk(x, 70) + x, 30));
    return {loss, grad(loss, w)};
  };
  const Feeds feeds = {{"x", Tensor::full(f32, {100}, 0.7)}};
  const Ran plain = run(build, feeds);
  for (const std::size_t part : {2, 3, 4}) {
    const std::size_t budget = plain.memory / part;
    const Ran fitted = run(build, feeds, {.memory_budget = budget});
    expect_same_bits(fitted, plain, "two chains");
    EXPECT_LE(fitted.memory, budget);
    EXPECT_EQ(fitted.counts.at("replayed_chain"), 2);
  }
}

TEST(RematerialiseChains, LeavesAloneWhatFitsAndWhatOthersRead) {
  const Ran plain = run(noisy_convolutions, image());
  const Ran fits = run(noisy_convolutions, image(), {.memory_budget = plain.memory});
  EXPECT_EQ(fits.memory, plain.memory);
  EXPECT_FALSE(fits.counts.contains("replayed_chain"));

  Graph graph;
  const Var x = graph.input("x", f32, {3});
  const ChainResult all =
      chain({x}, {}, [](Var, const Vars& s, const Vars&) -> StepResult { return {{sin(s[0])}}; },
            {.length = 9});
  const Var dx = grad(sum(all.last[0]), x);
  EXPECT_EQ(find_chain_pairs(run_passes(graph, std::vector<Var>{dx}, {})).size(), 1U);
  EXPECT_TRUE(find_chain_pairs(run_passes(graph, std::vector<Var>{dx, all.before[0]}, {})).empty());
  EXPECT_TRUE(find_chain_pairs(run_passes(graph, std::vector<Var>{all.last[0]}, {})).empty());
}

// The second derivative walks back along the chain by which the first one walks back.
TEST(RematerialiseChains, SecondDerivatives) {
  const Builder build = [](Graph& graph) -> std::vector<Var> {
    const Var x = graph.input("x", f64, {50});
    const Var y =
        chain({x}, {}, [](Var, const Vars& s, const Vars&) -> StepResult { return {{sin(s[0])}}; },
              {.length = 40})
            .last[0];
    const Var dx = grad(sum(y), x);
    return {grad(sum(square(dx)), x)};
  };
  const Feeds feeds = {{"x", Tensor::full(f64, {50}, 0.7)}};
  const Ran plain = run(build, feeds);
  const std::size_t budget = plain.memory * 8 / 10;
  const Ran fitted = run(build, feeds, {.memory_budget = budget});
  expect_same_bits(fitted, plain, "second derivative");
  EXPECT_LE(fitted.memory, budget);
  EXPECT_EQ(fitted.counts.at("replayed_chain"), 1);
}

TEST(RematerialiseChains, SaysWhatWouldFit) {
  const auto message = [](const CompileOptions& options) -> std::string {
    try {
      run([](Graph& graph) { return recurrent(graph, false, 1); }, sequence(41, 5), options);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const std::string small =
      message({.memory_budget = 64, .plan_sizes = {{"time", 41}, {"batch", 5}}});
  EXPECT_THAT(small, testing::StartsWith(
                         "memory_budget: nothing fits into 64 B; the least that would is "));
  const std::size_t at = small.rfind('(') + 1;
  const std::size_t least = std::stoul(small.substr(at));
  EXPECT_EQ(message({.memory_budget = least, .plan_sizes = {{"time", 41}, {"batch", 5}}}), "");
  EXPECT_EQ(message({.memory_budget = 10'000, .plan_sizes = {{"time", 41}}}),
            "memory_budget: what fits depends on the size of 'batch'; give it in plan_sizes");
  EXPECT_EQ(
      message({.memory_budget = 10'000, .plan_sizes = {{"time", 41}, {"batch", 5}, {"width", 3}}}),
      "plan_sizes: no input has a size called 'width'");
  EXPECT_THAT(message({.memory_budget = 10'000, .plan_sizes = {{"time", -1}, {"batch", 5}}}),
              testing::StartsWith("plan_sizes: 'time' is -1, outside its range [0, "));
}

// What the backend is asked for in a run is what was planned, and nothing else.
class MeasuredBackend final : public Backend {
 public:
  explicit MeasuredBackend(std::size_t& bytes) : bytes_(bytes) { kernels_ = inner_->kernels(); }
  std::string_view name() const override { return "measured"; }
  Device device() const override { return {}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    Tensor tensor = inner_->allocate(dtype, shape);
    // Small values that depend on sizes alone are computed when a frame is made, and stay.
    bytes_ += tensor.bytes() > 4096 ? tensor.bytes() : 0;
    return tensor;
  }
  Tensor to_device(const Tensor& tensor) const override { return tensor; }
  Tensor to_host(const Tensor& tensor) const override { return tensor; }
  void copy(const Tensor& to, const Tensor& from) const override { inner_->copy(to, from); }

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend();
  std::size_t& bytes_;
};

TEST(RematerialiseChains, TheBudgetIsWhatIsAllocated) {
  std::size_t allocated = 0;
  Session session(std::make_unique<MeasuredBackend>(allocated));
  Graph graph = session.graph();
  constexpr std::int64_t kLarge = 41;
  const std::size_t budget = 30 * aligned(kChannels * kLarge * kLarge * sizeof(float));
  const Executable step =
      session.compile(noisy_convolutions_of(graph, kLarge), {.memory_budget = budget});
  allocated = 0;
  step(image(kLarge));
  EXPECT_EQ(allocated, step.memory_bytes());
  EXPECT_LE(allocated, budget);
}

}  // namespace antichain::rematerialise_chains_test
