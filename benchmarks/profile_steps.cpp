// Where the time of a training step goes: bench_profile [part of a case's name]. Shows the fastest
// of a few runs.
#include <chrono>
#include <iostream>
#include <limits>

#include "benchmarks/training_steps.h"

int main(int argc, char** argv) {
  using namespace antichain;
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (const bench::StepCase& step_case : bench::training_steps()) {
    if (step_case.name.find(wanted) == std::string::npos) {
      continue;
    }
    const bench::TrainingStep step = step_case.make({});
    step.executable(step.feeds);
    std::string table;
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 5; ++run) {
      Profiler profiler;
      const auto start = std::chrono::steady_clock::now();
      step.executable.run(step.feeds, {&profiler});
      const std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - start;
      if (taken.count() < best) {
        best = taken.count();
        table = profiler.table();
      }
    }
    std::cout << step_case.name << ", " << best << " ms\n" << table << '\n';
  }
}
