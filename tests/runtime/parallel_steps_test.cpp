// Branches that run at the same time give the bits that they give one after the other.
#include <gtest/gtest.h>

#include "antichain/antichain.h"
#include "antichain/passes/pipeline.h"
#include "tests/backends_cpu/threads.h"

namespace antichain::parallel_steps_test {

struct Model {
  std::function<Var(Graph&)> loss;
  Feeds feeds;
};

Tensor waves(const Shape& shape) {
  Tensor result = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = std::sin(static_cast<float>(i));
  }
  return result;
}

Model towers() {
  const auto loss = [](Graph& graph) {
    const Var x = graph.input("x", f32, {"batch", 64});
    const std::vector<std::int64_t> widths(6, 64);
    const Var a = nn::mlp(x, widths, {.name = "a", .activation = tanh});
    const Var b = nn::mlp(x, widths, {.name = "b", .activation = sigmoid});
    return mean(square(a - b)) + 0.1 * mean(square(nn::dropout(a, {.rate = 0.5})));
  };
  return {loss, {{"x", waves({31, 64})}}};
}

Model both_ways() {
  const auto loss = [](Graph& graph) {
    const Var xs = graph.input("xs", f32, {"time", 5, 8});
    const Var there = index(nn::gru(xs, 32, {.name = "there"}).last, 0, 0);
    const Var back = index(nn::gru(xs, 32, {.name = "back", .reverse = true}).last, 0, 0);
    return mean(square(nn::linear(concat({there, back}, 1), 3)));
  };
  return {loss, {{"xs", waves({40, 5, 8})}}};
}

struct Trained {
  std::vector<Tensor> losses;
  std::map<std::string, Tensor, std::less<>> states;
  std::size_t parallel_steps;
};

Trained train(const Model& model, const CompilerOptions& options) {
  Session session({.seed = 3});
  Graph graph = session.graph();
  const Var loss = model.loss(graph);
  const Executable step =
      session.compile({loss}, {.updates = optim::adam(loss, {.lr = 0.01}), .compiler = options});
  Trained trained;
  for (int i = 0; i < 20; ++i) {
    trained.losses.push_back(step(model.feeds)[0]);
  }
  for (const auto& [name, value] : session.states().all()) {
    trained.states.emplace(name, value.clone());
  }
  trained.parallel_steps = step.memory_report(model.feeds).num_parallel_steps;
  return trained;
}

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.bytes(), b.bytes()) << what;
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << what;
}

class ParallelSteps : public testing::TestWithParam<Model (*)()> {};

TEST_P(ParallelSteps, HaveTheBitsOfOneAfterTheOther) {
  const Model model = GetParam()();
  const Trained serial = train(model, {.disabled = {std::string(kParallelSteps)}});
  EXPECT_EQ(serial.parallel_steps, 0);
  for (const int threads : {1, 2, 3}) {
    const cpu::Threads scope(threads);
    const Trained parallel = train(model, {});
    EXPECT_EQ(parallel.parallel_steps > 0, threads > 1);
    for (std::size_t i = 0; i < serial.losses.size(); ++i) {
      expect_same_bits(serial.losses[i], parallel.losses[i], "loss");
    }
    for (const auto& [name, value] : serial.states) {
      expect_same_bits(value, parallel.states.at(name), name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ParallelSteps, testing::Values(towers, both_ways));

TEST(ParallelSteps, ErrorsReachTheCaller) {
  const cpu::Threads scope(2);
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {64, 64}), at = graph.input("at", i64, {64});
  Var a = x, b = gather(x, at, 0);
  for (int i = 0; i < 8; ++i) {
    a = tanh(matmul(a, x));
    b = tanh(matmul(b, x));
  }
  const Executable run = session.compile({sum(a) + sum(b)});
  Feeds feeds = {{"x", waves({64, 64})}, {"at", Tensor::full(i64, {64}, 64)}};
  EXPECT_THROW(run(feeds), Error);
  feeds["at"] = Tensor::zeros(i64, {64});
  EXPECT_NO_THROW(run(feeds));
  EXPECT_EQ(run.memory_report(feeds).num_parallel_steps > 0, cpu::num_threads() > 1);
}

// How often a loop runs is a size that is found out, here by steps on two lanes. In a program that
// has never run, nobody has found any before.
TEST(ParallelSteps, FindSizesAtTheSameTime) {
  const cpu::Threads scope(2);
  const auto gradients = [](const CompilerOptions& options) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", f64, {40}), factor = graph.input("factor", f64, {});
    const auto step = [&](Var h, Var from) {
      const LoopResult found = loop(
          {from + h * h}, [](const Vars& s) { return less(s[0], 5); },
          [&](const Vars& s) { return Vars{s[0] * factor}; });
      return found.last[0] * 0.1;
    };
    Var loss = scalar(graph, f64, 0);
    for (const double start : {0.1, 0.2}) {
      loss = loss + sum(chain(scalar(graph, f64, start), x, step).all);
    }
    const Executable run = session.compile(grad(loss, {x, factor}), {.compiler = options});
    const Tensor values = Tensor::full(f64, {40}, 0.7);
    const Feeds feeds = {{"x", values}, {"factor", Tensor::scalar(1.3)}};
    std::vector<Tensor> found = run(feeds).tensors();
    EXPECT_EQ(run.memory_report(feeds).num_parallel_steps > 0,
              options.disabled.empty() && cpu::num_threads() > 1);
    return found;
  };
  const std::vector<Tensor> serial = gradients({.disabled = {std::string(kParallelSteps)}});
  for (int i = 0; i < 20; ++i) {
    const std::vector<Tensor> parallel = gradients({});
    for (std::size_t n = 0; n < serial.size(); ++n) {
      expect_same_bits(serial[n], parallel[n], "gradient");
    }
  }
}

TEST(ParallelSteps, AMemoryBudgetRunsOneAfterTheOther) {
  const cpu::Threads scope(2);
  const Model model = towers();
  Session session;
  Graph graph = session.graph();
  const Var loss = model.loss(graph);
  const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.1}),
                                                   .memory_budget = std::size_t{1} << 30,
                                                   .plan_sizes = {{"batch", 31}}});
  EXPECT_EQ(step.memory_report(model.feeds).num_parallel_steps, 0);
}

}  // namespace antichain::parallel_steps_test
