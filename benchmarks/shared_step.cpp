// A training step again and again beside other processes that do the same:
// benchmarks/shared_machine.
//   bench_shared <case> <seconds>
// Says `ready` when the first step has run, begins when a line arrives on standard input, and
// prints the mean time of a step as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "benchmarks/training_steps.h"

namespace antichain::bench {
namespace {

StepCase find_case(const std::string& name) {
  const std::vector<StepCase> all = training_steps();
  const auto found = std::ranges::find(all, name, &StepCase::name);
  require(found != all.end(), "there is no case '{}'", name);
  return *found;
}

void run(const std::string& name, double seconds) {
  using Clock = std::chrono::steady_clock;
  const TrainingStep step = find_case(name).make({});
  Results results;
  step.executable.run_into(results, step.feeds);
  fmt::print("ready\n");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  const Clock::time_point start = Clock::now();
  std::int64_t steps = 0;
  std::chrono::duration<double> passed{0};
  for (; passed.count() < seconds; passed = Clock::now() - start) {
    step.executable.run_into(results, step.feeds);
    ++steps;
  }
  fmt::print("{{\"milliseconds\": {}}}\n", passed.count() * 1e3 / static_cast<double>(steps));
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  try {
    antichain::require(argc == 3, "usage: bench_shared <case> <seconds>");
    antichain::bench::run(argv[1], std::stod(argv[2]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_shared: {}\n", error.what());
    return 1;
  }
}
