// `antichain train`: trains a recipe, keeps checkpoints, and reports how it went.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "antichain/base/error.h"
#include "antichain/train/progress_bar.h"
#include "apps/antichain/ending.h"
#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/run_folder.h"
#include "apps/antichain/run_report.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

struct TrainArguments {
  std::shared_ptr<RecipeArguments> recipe;
  std::string out, resume;
  std::int64_t checkpoint_every = 0, keep = 2, max_steps = 0;
};

std::string text_of(const Facts& facts) {
  Table table;
  for (const auto& [name, value] : facts) {
    table.add({name, value});
  }
  return "\n" + table.str();
}

// A diverged run ends like any other, and says so.
std::string note_of(const TrainResult& result, const std::string& folder) {
  if (!result.finished) {
    return fmt::format("\nStopped; go on with: antichain train --resume {}\n", folder);
  }
  return result.is_diverged() ? fmt::format("\n{}\n", kDiverged) : "";
}

void train(RecipeRun& run, const RunFolder& place, const TrainArguments& arguments,
           const Globals& globals) {
  const StopSignals signals;
  const std::filesystem::path& folder = place.path;
  const TrainResult result = [&] {
    ProgressBar bar(globals.output.progress());
    return run.train({.folder = folder,
                      .lock = place.lock,
                      .resume = !arguments.resume.empty(),
                      .checkpoint_every = arguments.checkpoint_every,
                      .keep = arguments.keep,
                      .max_steps = arguments.max_steps,
                      .progress = [&](const TrainProgress& progress) { bar.update(progress); },
                      .stop = [&] { return signals.received() != 0; }});
  }();
  const RunSummary summary = run.summarize(result);
  const std::filesystem::path report = write_run_report(folder, run, summary, result.history);
  Json json = summary_json(run, summary);
  json["finished"] = result.finished;
  json["folder"] = folder.string();
  json["report"] = report.string();
  Facts facts = facts_of(run, summary);
  facts.emplace_back("folder", folder.string());
  facts.emplace_back("report", report.string());
  const int signal = result.finished ? 0 : signals.received();
  try {
    globals.output.finish(text_of(facts) + note_of(result, folder.string()), json);
  } catch (const DataError&) {
    if (signal == 0) {  // otherwise the terminal may be gone
      throw;
    }
  }
  if (signal != 0) {
    throw EndedBySignal(signal);
  }
}

void start(const TrainArguments& arguments, const Globals& globals) {
  const Recipe& recipe = find_recipe(arguments.recipe->recipe);
  // Data, engine and settings are looked at before anything is written.
  RecipeRun run(recipe, make_context(recipe, *arguments.recipe, globals));
  if (run.context().memory_budget) {  // whether anything fits shows when the step is compiled
    run.step();
  }
  const RunFolder folder = make_run_folder(arguments.out, recipe.name);
  describe_run(folder.path, recipe, run.context());
  train(run, folder, arguments, globals);
}

// What the graph compiler was told may be said again, but not otherwise: bits could depend on it.
void require_same_compiler(const CLI::App& command, const CompilerOptions& given,
                           const CompilerOptions& kept) {
  const auto require_same = [&command](const char* option, bool same, const std::string& before) {
    require(command.count(option) == 0 || same,
            "--resume goes on with what the run was started with, {}; {} cannot be changed", before,
            option);
  };
  require_same("--level", given.level == kept.level, fmt::format("--level {}", kept.level));
  require_same("--disable-pass", given.disabled == kept.disabled,
               kept.disabled.empty() ? "no --disable-pass"
                                     : fmt::format("--disable-pass {}",
                                                   fmt::join(kept.disabled, " --disable-pass ")));
  require_same("--fast-math", given.fast_math == kept.fast_math,
               kept.fast_math ? "--fast-math" : "no --fast-math");
}

void resume(const CLI::App& command, const TrainArguments& arguments, const Globals& globals) {
  for (const char* fixed : {"RECIPE", "--seed", "--engine", "--epochs", "--batch", "--precision",
                            "--set", "--memory-budget", "--out"}) {
    require(command.count(fixed) == 0,
            "--resume goes on with what the run was started with; {} cannot be given", fixed);
  }
  RunDescription description = read_run(arguments.resume);
  require_same_compiler(command, arguments.recipe->compiler, description.context.compiler);
  const RunFolder folder{.path = arguments.resume,
                         .lock = std::make_shared<const FolderLock>(arguments.resume)};
  const std::string device = description.context.device;
  if (!arguments.recipe->data.empty()) {
    description.context.data_folder = arguments.recipe->data;
  }
  description.context.compiler.dump_folder = arguments.recipe->compiler.dump_folder;
  if (command.count("--device") > 0) {  // a checkpoint fits any device
    description.context.device = arguments.recipe->device;
  }
  description.context.logger = Logger(globals.log_level);
  const Recipe& recipe = find_recipe(description.recipe);
  RecipeRun run(recipe, description.context);
  if (run.context().device != device) {
    describe_run(folder.path, recipe, run.context());
  }
  train(run, folder, arguments, globals);
}

}  // namespace

void add_train_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("train", "Train a recipe and report how it went");
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->recipe = add_recipe_arguments(*command);
  add_memory_budget(*command, *arguments->recipe);
  command
      ->add_option("--out", arguments->out,
                   "Folder for checkpoints, event files and the report [runs/RECIPE-N]")
      ->type_name("DIR");
  command->add_option("--resume", arguments->resume, "Go on with the run in this folder")
      ->type_name("DIR");
  command
      ->add_option("--checkpoint-every", arguments->checkpoint_every,
                   "Steps between checkpoints; 0: at the end of epochs, every few seconds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--keep", arguments->keep, "How many checkpoints are kept")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--max-steps", arguments->max_steps, "End after so many steps; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->callback([&globals, arguments, command] {
    if (arguments->resume.empty()) {
      start(*arguments, globals);
    } else {
      resume(*command, *arguments, globals);
    }
  });
}

}  // namespace antichain::app
