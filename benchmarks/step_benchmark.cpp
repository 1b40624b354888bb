// Whole training steps, as benchmarks/peers/pytorch_steps.py does them, and what an op costs beside
// its kernel.
#include <benchmark/benchmark.h>

#include "antichain/antichain.h"
#include "benchmarks/against.h"
#include "benchmarks/op_case.h"

namespace antichain::bench {
namespace {

Tensor labels(std::int64_t count, std::int64_t classes) {
  Tensor result = Tensor::empty(i64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    result.data<std::int64_t>()[i] = i % classes;
  }
  return result;
}

void run_steps(benchmark::State& state, const Executable& step, const Feeds& feeds) {
  Results results;
  step.run_into(results, feeds);
  for (auto iteration : state) {
    static_cast<void>(iteration);
    step.run_into(results, feeds);
  }
  state.counters["memory MiB"] = static_cast<double>(step.memory_bytes()) / (1 << 20);
  state.counters["ops"] = static_cast<double>(step.num_steps());
}

void mlp_step(benchmark::State& state) {
  constexpr std::int64_t kBatch = 128;
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {kBatch, 784}), label = graph.input("label", i64, {kBatch});
  const Var loss = mean(cross_entropy(nn::mlp(x, {512, 512, 10}), label));
  const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.01})});
  run_steps(state, step, {{"x", numbers(f32, {kBatch, 784})}, {"label", labels(kBatch, 10)}});
}

void gru_step(benchmark::State& state, std::int64_t steps, std::int64_t batch, std::int64_t inputs,
              std::int64_t hidden) {
  Session session;
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f32, {steps, batch, inputs});
  const Var label = graph.input("label", i64, {batch});
  const Var last = index(nn::gru(xs, hidden).last, 0, 0);
  const Var logits = nn::linear(last, 10);
  const Var loss = mean(cross_entropy(logits, label));
  const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.01})});
  run_steps(state, step,
            {{"xs", numbers(f32, {steps, batch, inputs})}, {"label", labels(batch, 10)}});
}

// A thousand ops on one element each: what running an op costs.
void small_ops(benchmark::State& state) {
  constexpr int kOps = 1000;
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {1});
  Var y = x;
  for (int i = 0; i < kOps; ++i) {
    y = -exp(y);
  }
  const Executable run = session.compile({y});
  const Feeds feeds = {{"x", Tensor::full(f32, {1}, 0.1)}};
  Results results;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    run.run_into(results, feeds);
  }
  state.counters["seconds per op"] = benchmark::Counter(
      static_cast<double>(run.num_steps()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// What starting a run costs: feeds, frame, results.
void small_run(benchmark::State& state) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {1});
  const Executable run = session.compile({x * 2});
  const Feeds feeds = {{"x", Tensor::full(f32, {1}, 0.1)}};
  Results results;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    run.run_into(results, feeds);
  }
}

void register_steps() {
  const auto milliseconds = benchmark::kMillisecond;
  benchmark::RegisterBenchmark("mlp 784-512-512-10, B=128", mlp_step)
      ->UseRealTime()
      ->Unit(milliseconds);
  benchmark::RegisterBenchmark("gru T=128 B=64 inputs=9 h=64",
                               [](benchmark::State& state) { gru_step(state, 128, 64, 9, 64); })
      ->UseRealTime()
      ->Unit(milliseconds);
  benchmark::RegisterBenchmark("gru T=128 B=64 inputs=512 h=512",
                               [](benchmark::State& state) { gru_step(state, 128, 64, 512, 512); })
      ->UseRealTime()
      ->Unit(milliseconds);
  benchmark::RegisterBenchmark("1000 ops on one element", small_ops)->UseRealTime();
  benchmark::RegisterBenchmark("one op on one element", small_run)->UseRealTime();
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_steps);
}
