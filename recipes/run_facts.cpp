// What a run is told about: how its step is computed, what it takes, how training went.
#include <optional>

#include "antichain/ops/state/state_ops.h"
#include "recipes/recipe_run.h"

namespace antichain {

std::vector<DeviceChoice> RecipeRun::device_choices() {
  Graph& compiled = step().graph();
  const DimEnv env = sizes_of_the_step();
  std::vector<DeviceChoice> choices;
  for (std::uint32_t id = 0; id < compiled.num_ops(); ++id) {
    const Op op = compiled.op(OpId{id});
    if (std::string how = session_.explain(op, env); !how.empty()) {
      choices.push_back({op.describe(), std::move(how)});
    }
  }
  return choices;
}

std::vector<EngineExplanation> RecipeRun::explain_engines() {
  Graph& built = graph();
  std::vector<EngineExplanation> choices;
  for (std::uint32_t id = 0; id < built.num_ops(); ++id) {
    const Op op = built.op(OpId{id});
    const EngineChoice choice = engine_choice(op);
    if (choice.is_backprop()) {
      continue;
    }
    if (std::string how = session_.engines().find(choice.name()).explain(op); !how.empty()) {
      choices.push_back({op.describe(), choice.str(), std::move(how)});
    }
  }
  return choices;
}

std::optional<KeptStates> RecipeRun::kept_states() {
  Graph& compiled = step().graph();
  const DimEnv env = sizes_of_the_step();
  std::optional<KeptStates> longest;
  for (const KeptStates& kept : antichain::kept_states(compiled, env)) {
    longest = !longest || kept.steps > longest->steps ? kept : longest;
  }
  return longest;
}

RunSummary RecipeRun::summarize(const TrainResult& result) {
  const auto test = result.scores.find("test");
  const Score score = test != result.scores.end() ? test->second : Score{};
  return {.train_loss = result.train_loss,
          .test_accuracy = score.accuracy,
          .test_loss = score.loss,
          .metrics = score.metrics,
          .reports = last_reports(result.history),
          .seconds = result.seconds,
          .samples_per_second = static_cast<double>(result.samples) / result.seconds,
          .peak_bytes = peak_bytes(),
          .parameters = num_parameters(),
          .steps = result.steps,
          .epochs = result.epochs};
}

std::map<std::string, double> last_reports(const History& history) {
  std::map<std::string, double> last;
  for (const auto& [name, curve] : history) {
    if (name.starts_with(kReportPrefix) && !curve.empty()) {
      last[name.substr(kReportPrefix.size())] = curve.back().value;
    }
  }
  return last;
}

std::int64_t RecipeRun::num_parameters() {
  std::int64_t count = 0;
  for (const Var parameter : parameters(graph())) {
    count += session_.states().get(state_name(parameter)).numel();
  }
  return count;
}

std::int64_t RecipeRun::peak_bytes() {
  std::size_t bytes = session_.states().bytes();
  bytes += step_ ? step_->memory_bytes() : 0;
  bytes += evaluation_ ? evaluation_->memory_bytes() : 0;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace antichain
