// Where the time of a training step goes: profile_steps [part of a case's name].
#include <iostream>

#include "benchmarks/training_steps.h"

int main(int argc, char** argv) {
  using namespace antichain;
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (const bench::StepCase& step_case : bench::training_steps()) {
    if (step_case.name.find(wanted) == std::string::npos) {
      continue;
    }
    const bench::TrainingStep step = step_case.make();
    Profiler profiler;
    step.executable(step.feeds);
    step.executable.run(step.feeds, {&profiler});
    std::cout << step_case.name << '\n' << profiler.table() << '\n';
  }
}
