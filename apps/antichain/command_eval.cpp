// `antichain eval`: how a trained model does on the test set.
#include <chrono>
#include <cmath>

#include "antichain/base/error.h"
#include "antichain/train/checkpoint.h"
#include "antichain/train/trainer.h"
#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/run_folder.h"
#include "apps/antichain/run_report.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

struct EvalArguments {
  std::string run, data, device, engine, precision, part = "test";
};

double last_train_loss(const History& history) {
  const auto curve = history.find("train/loss");
  return curve != history.end() && !curve->second.empty()
             ? curve->second.back().value
             : std::numeric_limits<double>::quiet_NaN();
}

// As for a run that goes on, there must be a value for every state and a state for every value. In
// another precision or by another engine there may be more states or fewer; what evaluation needs
// must be there and fit then, and the rest where the step counts on it.
void take_states(RecipeRun& run, const Checkpoint& checkpoint, const std::filesystem::path& folder,
                 const EvalArguments& arguments) {
  const bool in_another_way = !arguments.precision.empty() || !arguments.engine.empty();
  run.evaluation();
  if (!in_another_way) {
    run.step();
  }
  try {
    if (arguments.data.empty()) {  // other data may have another number of batches
      require_position(checkpoint.state, run.context().settings.integer("epochs"),
                       run.batches()->batches_per_epoch());
    }
    run.session().states().set_all(checkpoint.states, in_another_way
                                                          ? StateStore::Unknown::taken
                                                          : StateStore::Unknown::refused);
    run.step();
  } catch (const InvalidArgument& error) {
    fail<DataError>("the checkpoint in '{}' does not fit this model and these data: {}",
                    folder.string(), error.what());
  }
}

void evaluate(const EvalArguments& arguments, const Globals& globals) {
  RunDescription description = read_run(arguments.run);
  description.context.logger = Logger(globals.log_level);
  if (!arguments.data.empty()) {
    description.context.data_folder = arguments.data;
  }
  if (!arguments.device.empty()) {
    description.context.device = arguments.device;
  }
  if (!arguments.precision.empty()) {
    description.context.settings.set("precision", arguments.precision);
  }
  if (!arguments.engine.empty()) {
    description.context.settings.set("engine", arguments.engine);
  }
  const std::filesystem::path folder = std::filesystem::path(arguments.run) / "checkpoints";
  const std::optional<Checkpoint> checkpoint = load_checkpoint(folder);
  require<DataError>(checkpoint.has_value(), "there is no checkpoint in '{}'", folder.string());
  RecipeRun run(find_recipe(description.recipe), description.context);
  take_states(run, *checkpoint, folder, arguments);
  const auto start = std::chrono::steady_clock::now();
  const Score score = run.evaluate(arguments.part);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto examples = static_cast<double>(
      arguments.part == "test" ? run.task().data.test->size() : run.task().data.validation->size());
  const RunSummary summary{.train_loss = last_train_loss(checkpoint->state.history),
                           .test_accuracy = score.accuracy,
                           .test_loss = score.loss,
                           .metrics = score.metrics,
                           .reports = last_reports(checkpoint->state.history),
                           .seconds = seconds,
                           .samples_per_second = examples / seconds,
                           .peak_bytes = run.peak_bytes(),
                           .parameters = run.num_parameters(),
                           .steps = checkpoint->state.step,
                           .epochs = checkpoint->state.epoch - 1};
  Table table;
  table.add({"recipe", description.recipe});
  table.add({"trained for", std::to_string(checkpoint->state.step) + " steps"});
  table.add({arguments.part + " loss", fmt::format("{:.4g}", score.loss)});
  table.add({arguments.part + " accuracy", percent(score.accuracy)});
  for (const auto& [name, value] : score.metrics) {
    table.add({arguments.part + " " + name, percent(value)});
  }
  table.add({"time", seconds_text(seconds)});
  std::string text = table.str();
  if (!std::isfinite(score.loss)) {
    text += fmt::format("\n{}\n", kDiverged);
  }
  Json json = summary_json(run, summary);
  json["part"] = arguments.part;
  globals.output.finish(text, json);
}

}  // namespace

void add_eval_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("eval", "Evaluate a trained model");
  const auto arguments = std::make_shared<EvalArguments>();
  command->add_option("RUN", arguments->run, "Folder of a run, see `antichain train --out`")
      ->required();
  command->add_option("--data", arguments->data, "Folder with data sets [as in training]")
      ->type_name("DIR");
  command->add_option("--device", arguments->device, "Where to run [as in training]");
  command
      ->add_option("--precision", arguments->precision,
                   "What to compute in: fp32, tf32, bf16 or fp16 [as in training]")
      ->type_name("NAME");
  command
      ->add_option("--engine", arguments->engine,
                   "Who runs the model, where engines run it forward in their own way; backprop: "
                   "step by step [as in training]")
      ->type_name("NAME[:OPTION=VALUE,...]");
  command->add_option("--part", arguments->part, "What to evaluate on: test or validation")
      ->check(CLI::IsMember({"test", "validation"}))
      ->capture_default_str();
  command->callback([&globals, arguments] { evaluate(*arguments, globals); });
}

}  // namespace antichain::app
