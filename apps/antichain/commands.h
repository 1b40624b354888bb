// The commands of the program. Each function adds one; it runs when the arguments have been parsed.
#pragma once

#include <CLI/CLI.hpp>

#include "antichain/base/logger.h"
#include "apps/antichain/output.h"

namespace antichain::app {

/// What holds for every command. Outlives the parsing.
struct Globals {
  Output output;
  LogLevel log_level = LogLevel::warning;
};

void add_train_command(CLI::App& app, const Globals& globals);
void add_eval_command(CLI::App& app, const Globals& globals);
void add_compare_command(CLI::App& app, const Globals& globals);
void add_gradcheck_command(CLI::App& app, const Globals& globals);
void add_bench_command(CLI::App& app, const Globals& globals);
void add_explain_command(CLI::App& app, const Globals& globals);
void add_calibrate_command(CLI::App& app, const Globals& globals);
void add_data_command(CLI::App& app, const Globals& globals);
void add_recipes_command(CLI::App& app, const Globals& globals);
void add_passes_command(CLI::App& app, const Globals& globals);
void add_ops_command(CLI::App& app, const Globals& globals);
void add_engines_command(CLI::App& app, const Globals& globals);

}  // namespace antichain::app
