// Whole training steps, and what an op costs beside its kernel.
#include <benchmark/benchmark.h>

#include "benchmarks/against.h"
#include "benchmarks/training_steps.h"

namespace antichain::bench {
namespace {

void run_step(benchmark::State& state, const StepCase& step_case) {
  const TrainingStep step = step_case.make({});
  Results results;
  step.executable.run_into(results, step.feeds);
  for (auto iteration : state) {
    static_cast<void>(iteration);
    step.executable.run_into(results, step.feeds);
  }
  state.counters["memory MiB"] = static_cast<double>(step.executable.memory_bytes()) / (1 << 20);
  state.counters["memory / alive"] = step.executable.memory_report(step.feeds).ratio();
  state.counters["ops"] = static_cast<double>(step.executable.num_steps());
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
  for (const StepCase& step_case : training_steps()) {
    benchmark::RegisterBenchmark(step_case.name.c_str(), run_step, step_case)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("1000 ops on one element", small_ops)->UseRealTime();
  benchmark::RegisterBenchmark("one op on one element", small_run)->UseRealTime();
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_steps);
}
