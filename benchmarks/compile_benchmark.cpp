// How long it takes to build, differentiate, compile and first run graphs of many ops, and how that
// grows with their number: twice the ops should take about twice the time. And what a step takes at
// a sequence length that it has not seen.
#include <benchmark/benchmark.h>

#include <chrono>
#include <map>

#include "antichain/antichain.h"
#include "benchmarks/against.h"

namespace antichain::bench {
namespace {

constexpr std::int64_t kWidth = 2;  // values are tiny: kernels take next to no time

struct GraphKind {
  std::string name;
  Var (*build)(Graph& graph, std::int64_t size);  // returns a loss
};

Var input(Graph& graph) { return graph.input("x", f32, {"n", kWidth}); }
Var weight(Graph& graph, std::int64_t number = 0) {
  return parameter("w" + std::to_string(number), full(graph, f32, {kWidth, kWidth}, 0.1));
}

Var unrolled_chain(Graph& graph, std::int64_t blocks) {
  const Var x = input(graph), w = weight(graph);
  Var h = x;
  for (std::int64_t i = 0; i < blocks; ++i) {
    h = tanh(matmul(h, w) + x);
  }
  return mean(h);
}

Var branches(Graph& graph, std::int64_t blocks) {
  const Var x = input(graph), w = weight(graph);
  Var total = x;
  for (std::int64_t i = 0; i < blocks; ++i) {
    total = total + sigmoid(matmul(x * static_cast<double>(i), w));
  }
  return mean(total);
}

// Every block has parameters of its own.
Var residual_network(Graph& graph, std::int64_t blocks) {
  Var h = input(graph);
  for (std::int64_t i = 0; i < blocks; ++i) {
    h = h + 0.1 * relu(matmul(h, weight(graph, i)));
  }
  return mean(h);
}

class Stopwatch {
 public:
  /// Returns the seconds since the last call, or since the watch was made.
  double lap() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

struct Times {
  std::size_t ops = 0;
  double build = 0, gradient = 0, compile = 0, first_run = 0;  // seconds

  double total() const { return build + gradient + compile + first_run; }
};

Times measure(const GraphKind& kind, std::int64_t blocks) {
  Stopwatch watch;
  Times times;
  Session session;
  Graph graph = session.graph();
  const Var loss = kind.build(graph, blocks);
  times.build = watch.lap();
  const std::vector<Var> updates = optim::sgd(loss, {.lr = 0.1});
  times.gradient = watch.lap();
  const Executable step = session.compile({loss}, {.updates = updates});
  times.compile = watch.lap();
  step({{"x", Tensor::full(f32, {1, kWidth}, 0.5)}});
  times.first_run = watch.lap();
  times.ops = graph.num_ops();
  return times;
}

// Returns how many blocks make a graph of so many ops.
std::int64_t blocks_for(const GraphKind& kind, std::int64_t ops) {
  constexpr std::int64_t kFew = 10, kMore = 110;
  const auto per_block =
      static_cast<std::int64_t>(measure(kind, kMore).ops - measure(kind, kFew).ops) /
      (kMore - kFew);
  return ops / per_block;
}

void run_compile(benchmark::State& state, const GraphKind& kind, std::int64_t ops) {
  // Sizes are run in ascending order; the one before is half as large.
  static std::map<std::pair<std::string, std::int64_t>, double> seconds;
  const std::int64_t blocks = blocks_for(kind, ops);
  Times times;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    times = measure(kind, blocks);
    state.SetIterationTime(times.total());
  }
  state.counters["build s"] = times.build;
  state.counters["gradient s"] = times.gradient;
  state.counters["compile s"] = times.compile;
  state.counters["first run s"] = times.first_run;
  seconds[{kind.name, ops}] = times.total();
  if (const auto half = seconds.find({kind.name, ops / 2}); half != seconds.end()) {
    state.counters["of half"] = times.total() / half->second;
  }
}

// Runs a training step at many lengths, each twice in a row.
void run_lengths(benchmark::State& state, const GraphKind& kind) {
  constexpr std::int64_t kLengths = 200, kStride = 73, kBatch = 16, kInputs = 9;
  Session session;
  Graph graph = session.graph();
  const Var loss = kind.build(graph, kInputs);
  const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.01})});
  double fresh = 0, known = 0;  // seconds
  for (auto iteration : state) {
    static_cast<void>(iteration);
    for (std::int64_t i = 0; i < kLengths; ++i) {
      const std::int64_t length = 1 + i * kStride % kLengths;  // each once, long and short mixed
      const Feeds feeds = {{"x", Tensor::full(f32, {length, kBatch, kInputs}, 0.5)}};
      Stopwatch watch;
      step(feeds);
      fresh += watch.lap();
      step(feeds);
      known += watch.lap();
    }
    state.SetIterationTime(fresh + known);
  }
  const double runs = static_cast<double>(kLengths) * 1e-3;
  state.counters["new length ms"] = fresh / runs;
  state.counters["known length ms"] = known / runs;
  state.counters["of it frame ms"] = step.statistics().frame_seconds / runs;
  state.counters["frames kept"] = static_cast<double>(step.statistics().frames_kept);
  state.counters["memory MiB"] = static_cast<double>(step.memory_bytes()) / (1 << 20);
}

Var gru_of_lengths(Graph& graph, std::int64_t inputs) {
  const Var xs = graph.input("x", f32, {"length", "batch", inputs});
  return mean(square(nn::linear(index(nn::gru(xs, 64).last, 0, 0), 6)));
}

Var transformer_of_lengths(Graph& graph, std::int64_t inputs) {
  const Var x = transpose(graph.input("x", f32, {"length", "batch", inputs}), {1, 0, 2});
  return mean(square(nn::transformer_block(nn::linear(x, 64), {.heads = 4})));
}

void register_all() {
  constexpr std::int64_t kFewest = 12'500, kMost = 200'000;  // ops
  const std::vector<GraphKind> kinds = {{"unrolled chain", unrolled_chain},
                                        {"branches", branches},
                                        {"residual network", residual_network}};
  for (const GraphKind& kind : kinds) {
    for (std::int64_t ops = kFewest; ops <= kMost; ops *= 2) {
      const std::string name = kind.name + " of " + std::to_string(ops) + " ops";
      benchmark::RegisterBenchmark(name.c_str(), run_compile, kind, ops)
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kSecond);
    }
  }
  for (const GraphKind& kind : {GraphKind{"gru h=64 B=16", gru_of_lengths},
                                GraphKind{"transformer d=64 B=16", transformer_of_lengths}}) {
    benchmark::RegisterBenchmark((kind.name + ", 200 lengths").c_str(), run_lengths, kind)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
  }
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_all);
}
