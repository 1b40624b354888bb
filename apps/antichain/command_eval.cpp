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
  std::string run, data, device, engine, precision, part = "test", perturb, against;
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

// A run with its states as they were kept last.
struct OpenedRun {
  std::unique_ptr<RecipeRun> run;
  Checkpoint checkpoint;
};

OpenedRun open_run(const std::string& folder, const EvalArguments& arguments,
                   const Globals& globals) {
  RunDescription description = read_run(folder);
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
  const std::filesystem::path checkpoints = std::filesystem::path(folder) / "checkpoints";
  std::optional<Checkpoint> checkpoint = load_checkpoint(checkpoints);
  require<DataError>(checkpoint.has_value(), "there is no checkpoint in '{}'",
                     checkpoints.string());
  auto run = std::make_unique<RecipeRun>(find_recipe(description.recipe), description.context);
  take_states(*run, *checkpoint, checkpoints, arguments);
  return {.run = std::move(run), .checkpoint = *std::move(checkpoint)};
}

// The examples moved against another run's model, or this one's; none where nothing is to move.
data::DatasetPtr moved_examples(RecipeRun& run, const std::optional<Perturbation>& perturbation,
                                const EvalArguments& arguments, const Globals& globals) {
  if (!perturbation) {
    return nullptr;
  }
  if (arguments.against.empty()) {
    return run.perturbed(arguments.part, *perturbation);
  }
  EvalArguments of_other = arguments;
  of_other.engine.clear();
  return open_run(arguments.against, of_other, globals)
      .run->perturbed(arguments.part, *perturbation);
}

std::optional<Perturbation> perturbation_of(const EvalArguments& arguments) {
  std::optional<Perturbation> perturbation;
  if (!arguments.perturb.empty()) {
    perturbation = parse_perturbation(arguments.perturb);
  }
  require(
      arguments.against.empty() || (perturbation && perturbation->kind == Perturbation::Kind::fgsm),
      "--against says whose gradient moves the inputs, and needs --perturb fgsm:SIZE");
  return perturbation;
}

void evaluate(const EvalArguments& arguments, const Globals& globals) {
  const std::optional<Perturbation> perturbation = perturbation_of(arguments);
  const OpenedRun opened = open_run(arguments.run, arguments, globals);
  RecipeRun& run = *opened.run;
  const data::DatasetPtr moved = moved_examples(run, perturbation, arguments, globals);
  const auto start = std::chrono::steady_clock::now();
  const Score score = moved ? run.evaluate(moved) : run.evaluate(arguments.part);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto examples = static_cast<double>(
      arguments.part == "test" ? run.task().data.test->size() : run.task().data.validation->size());
  const RunSummary summary{.train_loss = last_train_loss(opened.checkpoint.state.history),
                           .test_accuracy = score.accuracy,
                           .test_loss = score.loss,
                           .metrics = score.metrics,
                           .reports = last_reports(opened.checkpoint.state.history),
                           .seconds = seconds,
                           .samples_per_second = examples / seconds,
                           .peak_bytes = run.peak_bytes(),
                           .parameters = run.num_parameters(),
                           .steps = opened.checkpoint.state.step,
                           .epochs = opened.checkpoint.state.epoch - 1};
  Table table;
  table.add({"recipe", run.recipe().name});
  table.add({"trained for", std::to_string(opened.checkpoint.state.step) + " steps"});
  if (moved) {
    table.add({"inputs perturbed by", arguments.perturb});
  }
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
  if (moved) {
    json["perturb"] = arguments.perturb;
  }
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
                   "Who runs the model, where engines run it forward in their own way (backprop: "
                   "step by step), and who finds the gradient of --perturb fgsm [as in training]")
      ->type_name("NAME[:OPTION=VALUE,...]");
  command
      ->add_option("--perturb", arguments->perturb,
                   "Evaluate on inputs that are moved within their range: fgsm:SIZE, each value so "
                   "far up the sign of the loss's gradient, or noise:SIZE, by normal noise")
      ->type_name("NAME:SIZE");
  command
      ->add_option("--against", arguments->against,
                   "The run whose model gives the gradient of --perturb fgsm [RUN itself]")
      ->type_name("DIR");
  command->add_option("--part", arguments->part, "What to evaluate on: test or validation")
      ->check(CLI::IsMember({"test", "validation"}))
      ->capture_default_str();
  command->callback([&globals, arguments] { evaluate(*arguments, globals); });
}

}  // namespace antichain::app
