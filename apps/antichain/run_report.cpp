#include "apps/antichain/run_report.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>

#include "antichain/train/report.h"
#include "apps/antichain/recipe_arguments.h"

namespace antichain::app {

namespace {

// The series in which engines tell which part of the units they computed, of 1.
constexpr const char* kActiveShare = "active_share";

ReportTable table_of(const std::string& title, const Facts& facts) {
  ReportTable table{.title = title};
  for (const auto& [name, value] : facts) {
    table.rows.push_back({name, value});
  }
  return table;
}

Facts settings_of(const Settings& settings) {
  Facts facts;
  for (const OptionSpec& option : settings.options()) {
    facts.emplace_back(option.name, settings.text(option.name));
  }
  return facts;
}

// Whether a report is of that series, of whatever scope: "out.active_share", "active_share_2".
bool is_of_series(std::string_view report, std::string_view series) {
  report.remove_prefix(report.rfind('.') + 1);
  if (!report.starts_with(series)) {
    return false;
  }
  report.remove_prefix(series.size());
  return report.find_first_not_of("_0123456789") == std::string_view::npos;
}

// The mean over the layers that report one; none where every unit was computed.
std::optional<double> active_share(const RunSummary& summary) {
  double sum = 0, count = 0;
  for (const auto& [name, value] : summary.reports) {
    if (is_of_series(name, kActiveShare)) {
      sum += value;
      ++count;
    }
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// JSON knows no NaN.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string percent(double fraction) {
  return std::isnan(fraction) ? "–" : fmt::format("{:.2f} %", 100 * fraction);
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.1f} s", seconds);
}

Facts facts_of(const RecipeRun& run, const RunSummary& summary) {
  Facts facts = {{"recipe", run.recipe().name},
                 {"engine", run.context().settings.text("engine")},
                 {"device", run.context().device},
                 {"seed", std::to_string(run.context().seed)},
                 {"parameters", std::to_string(summary.parameters)},
                 {"epochs", std::to_string(summary.epochs)},
                 {"steps", std::to_string(summary.steps)},
                 {"train loss", fmt::format("{:.4g}", summary.train_loss)},
                 {"test loss", fmt::format("{:.4g}", summary.test_loss)},
                 {"test accuracy", percent(summary.test_accuracy)}};
  for (const auto& [name, value] : summary.metrics) {
    facts.emplace_back("test " + name, percent(value));
  }
  if (const auto share = active_share(summary)) {
    facts.emplace_back("active share", percent(*share));
  }
  facts.emplace_back("training time", seconds_text(summary.seconds));
  facts.emplace_back("samples/s", fmt::format("{:.0f}", summary.samples_per_second));
  facts.emplace_back("memory", bytes_text(summary.peak_bytes));
  return facts;
}

Json summary_json(const RecipeRun& run, const RunSummary& summary) {
  Json json = {
      {"recipe", run.recipe().name},
      {"engine", run.context().settings.text("engine")},
      {"device", run.context().device},
      {"seed", run.context().seed},
      {"test_accuracy", number_or_null(summary.test_accuracy)},
      {"test_loss", number_or_null(summary.test_loss)},
      {"train_loss", number_or_null(summary.train_loss)},
      {"diverged", !std::isfinite(summary.test_loss) || !std::isfinite(summary.train_loss)},
      {"seconds", summary.seconds},
      {"samples_per_second", number_or_null(summary.samples_per_second)},
      {"peak_bytes", summary.peak_bytes},
      {"parameters", summary.parameters},
      {"epochs", summary.epochs},
      {"steps", summary.steps},
      {"settings", settings_json(run.context().settings)}};
  for (const auto& [name, value] : summary.metrics) {
    json[name] = number_or_null(value);
  }
  if (const auto share = active_share(summary)) {
    json[kActiveShare] = *share;
  }
  if (!summary.reports.empty()) {
    json["reports"] = summary.reports;
  }
  return json;
}

Json engine_explanations_json(const std::vector<EngineExplanation>& choices) {
  Json json = Json::array();
  for (const auto& [region, engine, how] : choices) {
    json.push_back({{"region", region}, {"engine", engine}, {"how", how}});
  }
  return json;
}

std::filesystem::path write_run_report(const std::filesystem::path& folder, const RecipeRun& run,
                                       const RunSummary& summary, const History& history) {
  std::filesystem::path path = folder / "report.html";
  write_report(path, {.title = run.recipe().name + ": " + run.recipe().summary,
                      .tables = {table_of("Result", facts_of(run, summary)),
                                 table_of("Settings", settings_of(run.context().settings))},
                      .charts = charts_of({{run.recipe().name, history}})});
  return path;
}

}  // namespace antichain::app
