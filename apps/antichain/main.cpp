// The command-line program. How it ends: ending.h.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "antichain/base/error.h"
#include "antichain/session/threads.h"
#include "apps/antichain/commands.h"
#include "apps/antichain/ending.h"
#include "apps/antichain/version.h"

namespace antichain::app {

namespace {

constexpr int kWrongArguments = 2;

void describe_program(CLI::App& app, Globals& globals) {
  app.name("antichain");
  app.description("Antichain: deep learning in which the way of computing gradients is a choice.");
  app.set_version_flag("--version", [&globals] { return version_text(globals.output.json()); });
  app.add_flag("--json")->description(
      "End with one line of JSON on standard output; progress goes to standard error");
  app.add_option_function<std::string>(
         "--log-level",
         [&globals](const std::string& level) { globals.log_level = parse_log_level(level); },
         "What to log to standard error: debug, info, warning, error or silent [warning]")
      ->type_name("LEVEL");
  app.add_option_function<int>("--threads", set_num_threads,
                               "How many threads to compute with at most [$ANTICHAIN_THREADS, or "
                               "all cores]; results have the same bits on any number")
      ->type_name("N");
  // The variables of the environment that say it are read here, before a command does anything.
  app.parse_complete_callback([] { num_threads(); });
  add_train_command(app, globals);
  add_eval_command(app, globals);
  add_compare_command(app, globals);
  add_gradcheck_command(app, globals);
  add_bench_command(app, globals);
  add_explain_command(app, globals);
  add_calibrate_command(app, globals);
  add_data_command(app, globals);
  add_recipes_command(app, globals);
  add_passes_command(app, globals);
  add_engines_command(app, globals);
  add_ops_command(app, globals);
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    command->fallthrough();  // --json is understood behind the command too
    command->footer("Also: --json, --log-level and --threads, see `antichain --help`.");
  }
}

// CLI11's sentence about arguments that do not parse; for a misspelt command, our own.
std::string explain_mistake(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (app.get_subcommands().empty() && !unknown.empty() && !unknown[0].starts_with("-")) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
      names.push_back(command->get_name());
    }
    return fmt::format("there is no command '{}'; there are: {}", unknown[0],
                       fmt::join(names, ", "));
  }
  return fmt::format("{}; see `antichain --help`", error.what());
}

void run(CLI::App& app, Globals& globals, int argc, char** argv) {
  describe_program(app, globals);
  try {
    app.parse(argc, argv);                 // runs the command too
  } catch (const CLI::Success& request) {  // --help and --version
    std::ostringstream text;
    app.exit(request, text, text);
    globals.output.write_to("-", text.str());
    return;
  }
  require(!app.get_subcommands().empty(), "no command given; see `antichain --help`");
}

}  // namespace

static int guarded_run(int argc, char** argv) {
  prepare_streams();
  // Looked for by hand: an error while parsing is reported in JSON too.
  const bool json = std::any_of(
      argv, argv + argc, [](const char* text) { return std::string_view(text) == "--json"; });
  Globals globals{.output = Output(json)};
  CLI::App app;
  Ending ending;
  try {
    run(app, globals, argc, argv);
  } catch (const CLI::ParseError& error) {
    ending = {kWrongArguments, explain_mistake(app, error)};
  } catch (...) {
    ending = ending_of(std::current_exception());
  }
  if (!ending.sentence.empty()) {
    globals.output.fail(ending.sentence);
  }
  return ending.code;
}

}  // namespace antichain::app

int main(int argc, char** argv) { return antichain::app::guarded_run(argc, argv); }
