// How long training steps take on a GPU: bench_gpu_steps [part of a case's name [level]]. A line of
// JSON per case. Inputs lie on the GPU; a step ends when its loss is on the host.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <vector>

#include "benchmarks/training_steps.h"

namespace {

using namespace antichain;
using Clock = std::chrono::steady_clock;

double milliseconds(const bench::TrainingStep& step, const Feeds& feeds, Results& results) {
  const Clock::time_point start = Clock::now();
  step.executable.run_into(results, feeds);
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void measure(const bench::StepCase& step_case, int level) {
  constexpr double kMilliseconds = 2000;  // to measure for
  const bench::TrainingStep step = step_case.make_on({.level = level}, "cuda");
  Feeds feeds;
  for (const auto& [name, value] : step.feeds) {
    feeds[name] = step.session->backend().to_device(value);
  }
  Results results;
  const double first = milliseconds(step, feeds, results);
  for (int i = 0; i < 3; ++i) {
    milliseconds(step, feeds, results);
  }
  std::vector<double> times;
  for (double total = 0; total < kMilliseconds; total += times.back()) {
    times.push_back(milliseconds(step, feeds, results));
  }
  std::sort(times.begin(), times.end());
  std::cout << "{\"name\": \"" << step_case.name
            << "\", \"milliseconds\": " << times[times.size() / 2]
            << ", \"fastest\": " << times.front() << ", \"first\": " << first
            << ", \"steps\": " << times.size() << "}" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const int level = argc > 2 ? std::stoi(argv[2]) : OptimiserOptions().level;
  for (const bench::StepCase& step_case : bench::training_steps()) {
    if (step_case.name.find(wanted) != std::string::npos) {
      try {
        measure(step_case, level);
      } catch (const Error& error) {
        std::cerr << step_case.name << ": " << error.what() << std::endl;
      }
    }
  }
}
