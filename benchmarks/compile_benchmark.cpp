// How long it takes to build, differentiate, compile and first run graphs of many ops, and how that
// grows with their number: twice the ops should take about twice the time.
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
  Var (*build)(Graph& graph, std::int64_t blocks);  // returns a loss
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

struct Times {
  std::size_t ops = 0;
  double build = 0, gradient = 0, compile = 0, first_run = 0;  // seconds

  double total() const { return build + gradient + compile + first_run; }
};

Times measure(const GraphKind& kind, std::int64_t blocks) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  const auto lap = [&start] {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(start, now)).count();
  };
  Times times;
  Session session;
  Graph graph = session.graph();
  const Var loss = kind.build(graph, blocks);
  times.build = lap();
  const std::vector<Var> updates = optim::sgd(loss, {.lr = 0.1});
  times.gradient = lap();
  const Executable step = session.compile({loss}, {.updates = updates});
  times.compile = lap();
  step({{"x", Tensor::full(f32, {1, kWidth}, 0.5)}});
  times.first_run = lap();
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

void register_kinds() {
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
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_kinds);
}
