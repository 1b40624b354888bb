// `antichain calibrate`: measures what choices on this machine are made by.
#include <fmt/format.h>

#include "antichain/session/calibration.h"
#include "apps/antichain/commands.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

void run_calibration(const CalibrationOptions& options, const Globals& globals) {
  const Calibration found = calibrate(options);
  Table table({"part of a scan", "nanoseconds"});
  Json costs = Json::object();
  for (const Calibration::Cost& cost : found.costs) {
    table.add({cost.what, fmt::format("{:.4g}", cost.seconds * 1e9)});
    costs[cost.name] = cost.seconds;
  }
  globals.output.finish(
      fmt::format("{}\n{} {}\n", table.str(),
                  found.measured ? "Measured now, and kept in"
                                 : "Measured before (--again measures anew), and kept in",
                  found.file.string()),
      {{"scan_costs", costs}, {"measured", found.measured}, {"file", found.file.string()}});
}

}  // namespace

void add_calibrate_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure what the algorithm of a scan is chosen by, once for this machine");
  const auto options = std::make_shared<CalibrationOptions>();
  command->add_flag("--again", options->again, "Also where that was done before");
  command->add_flag("--busy", options->on_busy_machine,
                    "Also while other programs use the cores; what is measured then is worth less");
  command->callback([&globals, options] { run_calibration(*options, globals); });
}

}  // namespace antichain::app
