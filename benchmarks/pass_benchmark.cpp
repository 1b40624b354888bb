// What each pass from level 2 on is worth: training steps with it and without it, in turns.
#include "antichain/passes/pipeline.h"
#include "benchmarks/against.h"
#include "benchmarks/training_steps.h"

namespace antichain::bench {
namespace {

void with_and_without(benchmark::State& state, const StepCase& step_case, const Pass& pass) {
  const TrainingStep with = step_case.make({.level = pass.level});
  const TrainingStep without =
      step_case.make({.level = pass.level, .disabled = {std::string(pass.name)}});
  Results with_results, without_results;
  const auto run = [](const TrainingStep& step, Results& results) {
    step.executable.run_into(results, step.feeds);
  };
  run(with, with_results);
  run(without, without_results);
  const BestTimes best = run_in_turns(
      state, [&] { run(with, with_results); }, [&] { run(without, without_results); });
  state.counters["with ms"] = best.ours * 1e3;
  state.counters["without ms"] = best.theirs * 1e3;
  state.counters["gain"] = best.theirs / best.ours;
  const MemoryReport report = with.executable.memory_report(with.feeds);
  state.counters["parallel steps"] = static_cast<double>(report.num_parallel_steps);
}

void register_passes() {
  std::vector<StepCase> cases = branching_steps();
  for (StepCase& step_case : training_steps()) {
    cases.push_back(std::move(step_case));
  }
  for (const Pass& pass : passes()) {
    for (const StepCase& step_case : cases) {
      if (pass.level >= CompilerOptions().level) {
        const std::string name = std::string(pass.name) + "/" + step_case.name;
        benchmark::RegisterBenchmark(name.c_str(), with_and_without, step_case, pass)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_passes);
}
