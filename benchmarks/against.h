// Two ways to compute the same, timed in turns so that both meet the same machine.
#pragma once

#include <benchmark/benchmark.h>

#include <limits>

#include "benchmarks/machine.h"

namespace antichain::bench {

struct BestTimes {
  double ours = std::numeric_limits<double>::infinity();  // seconds
  double theirs = std::numeric_limits<double>::infinity();
};

/// Runs both once per iteration and returns the shortest times; before that both once, since memory
/// that is touched for the first time takes longer than what is measured.
template <class Ours, class Theirs>
BestTimes run_in_turns(benchmark::State& state, Ours&& ours, Theirs&& theirs) {
  using Clock = std::chrono::steady_clock;
  BestTimes best;
  const auto time = [](auto& f, double& shortest) {
    const auto start = Clock::now();
    f();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    shortest = std::min(shortest, seconds);
    return seconds;
  };
  theirs();
  ours();
  for (auto step : state) {
    static_cast<void>(step);
    time(theirs, best.theirs);
    state.SetIterationTime(time(ours, best.ours));
  }
  return best;
}

/// Reports speeds of `flops` operations, ours against theirs and against the peak of the machine.
inline void report_speeds(benchmark::State& state, double flops, const BestTimes& best) {
  state.counters["GFLOP/s"] = flops / best.ours * 1e-9;
  state.counters["oneDNN GFLOP/s"] = flops / best.theirs * 1e-9;
  state.counters["of oneDNN"] = best.theirs / best.ours;
  state.counters["of peak"] = flops / best.ours / peak_flops();
}

/// Runs what was registered, as the command line says.
inline int run_registered(int argc, char** argv, void (*register_all)()) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace antichain::bench
