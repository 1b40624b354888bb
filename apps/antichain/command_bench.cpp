// `antichain bench`: how long a training step takes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "antichain/runtime/profiler.h"
#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/run_report.h"
#include "apps/antichain/table.h"
#include "recipes/cost.h"
#include "recipes/recipe_run.h"

namespace antichain::app {

namespace {

struct BenchArguments {
  std::shared_ptr<RecipeArguments> recipe;
  std::int64_t steps = 50, warm_up = 5;
  bool profile = false;
};

struct StepTimes {
  double first = 0;            // seconds until the first step is done: the model is built, too
  std::vector<double> sorted;  // of the measured steps
};

// Always on one batch: what is measured is the step, not the data. `executable` is called in every
// round: the first call builds it.
template <class F>
StepTimes step_times(F&& executable, const data::Batch& batch, const BenchArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  StepTimes times;
  Results results;
  const auto timed_step = [&] {
    const Clock::time_point start = Clock::now();
    executable().run_into(results, batch);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  times.first = timed_step();
  for (std::int64_t i = 1; i < arguments.warm_up; ++i) {
    timed_step();
  }
  for (std::int64_t i = 0; i < arguments.steps; ++i) {
    times.sorted.push_back(timed_step());
  }
  std::sort(times.sorted.begin(), times.sorted.end());
  return times;
}

// Where the time of a step goes: that of the fastest of a few, which others disturbed least.
std::vector<ProfileRow> profile_step(const Executable& step, const data::Batch& batch) {
  constexpr int kRuns = 5;
  const auto total = [](const std::vector<ProfileRow>& rows) {
    double seconds = 0;
    for (const ProfileRow& row : rows) {
      seconds += row.seconds;
    }
    return seconds;
  };
  std::vector<ProfileRow> fastest;
  for (int i = 0; i < kRuns; ++i) {
    Profiler profiler;
    step.run(batch, {&profiler});
    std::vector<ProfileRow> rows = profiler.rows();
    if (fastest.empty() || total(rows) < total(fastest)) {
      fastest = std::move(rows);
    }
  }
  return fastest;
}

void add_profile(const std::vector<ProfileRow>& rows, std::string& text, Json& json) {
  Table table({"op", "kernel", "count", "time"});
  for (const ProfileRow& row : rows) {
    table.add({row.op, row.kernel, std::to_string(row.count), seconds_text(row.seconds)});
    json["profile"].push_back({{"op", row.op},
                               {"kernel", row.kernel},
                               {"count", row.count},
                               {"seconds", row.seconds},
                               {"bytes", row.bytes}});
  }
  text += "\n" + table.str();
}

void bench(const BenchArguments& arguments, const Globals& globals) {
  const Recipe& recipe = find_recipe(arguments.recipe->recipe);
  RecipeRun run(recipe, make_context(recipe, *arguments.recipe, globals));
  const data::Batch batch = run.first_batch();
  const StepTimes measured =
      step_times([&]() -> const Executable& { return run.step(); }, batch, arguments);
  const std::int64_t peak_bytes = run.peak_bytes();  // before there is anything but the step
  const StepTimes forward =
      step_times([&]() -> const Executable& { return run.evaluation(); }, batch, arguments);
  const std::vector<double>& times = measured.sorted;
  FlopCounter counter;
  run.step().run(batch, {&counter});
  const double median = times[times.size() / 2];
  const auto examples = static_cast<double>(run.batch_size());
  Table table;
  table.add({"step", seconds_text(median) + " (median of " + std::to_string(times.size()) + ")"});
  table.add({"fastest, slowest", seconds_text(times.front()) + ", " + seconds_text(times.back())});
  table.add({"forward alone", seconds_text(forward.sorted[forward.sorted.size() / 2])});
  table.add({"first step", seconds_text(measured.first) + " (building and compiling included)"});
  table.add({"samples/s", fmt::format("{:.0f}", examples / median)});
  table.add({"GFLOP/s", fmt::format("{:.1f}", counter.flops() / median / 1e9)});
  table.add({"memory", bytes_text(peak_bytes)});
  Json json = {{"recipe", recipe.name},
               {"engine", run.context().settings.text("engine")},
               {"device", run.context().device},
               {"seed", run.context().seed},
               {"step_seconds", median},
               {"fastest_step_seconds", times.front()},
               {"fastest_forward_seconds", forward.sorted.front()},
               {"first_step_seconds", measured.first},
               {"samples_per_second", examples / median},
               {"flops_per_step", counter.flops()},
               {"peak_bytes", peak_bytes},
               {"settings", settings_json(run.context().settings)}};
  if (const std::optional<KeptStates> kept = run.kept_states()) {
    table.add({"longest chain",
               fmt::format("{} steps, {} kept of {} each, forwards at most {} times", kept->steps,
                           kept->stored, bytes_text(kept->state_bytes), kept->evaluations)});
    json["activation_bytes"] = kept->state_bytes;
    json["stored_activations"] = kept->stored;
    json["forward_evaluations_max"] = kept->evaluations;
    json["forward_evaluations"] = kept->all_evaluations;
  }
  std::string text = table.str();
  if (arguments.profile) {
    add_profile(profile_step(run.step(), batch), text, json);
  }
  globals.output.finish(text, json);
}

}  // namespace

void add_bench_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("bench", "Measure the training step of a recipe");
  const auto arguments = std::make_shared<BenchArguments>();
  arguments->recipe = add_recipe_arguments(*command);
  add_memory_budget(*command, *arguments->recipe);
  command->add_option("--steps", arguments->steps, "Steps that are measured")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--warm-up", arguments->warm_up, "Steps before that")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--profile", arguments->profile, "Show which ops a step's time goes to, too");
  command->callback([&globals, arguments] { bench(*arguments, globals); });
}

}  // namespace antichain::app
