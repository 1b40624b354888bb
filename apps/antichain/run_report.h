// How a training run is told: as a table, as JSON, as a page.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "antichain/base/byte_size.h"
#include "apps/antichain/output.h"
#include "recipes/recipe_run.h"

namespace antichain::app {

using Facts = std::vector<std::pair<std::string, std::string>>;

inline constexpr const char* kDiverged =
    "Diverged: a loss is no finite number, so nothing can be done with these states; a smaller lr "
    "may help.";

/// Returns what there is to say about a run for people, in reading order.
Facts facts_of(const RecipeRun& run, const RunSummary& summary);
/// Returns the same for programs.
Json engine_explanations_json(const std::vector<EngineExplanation>& choices);
Json summary_json(const RecipeRun& run, const RunSummary& summary);
/// Writes report.html into the folder and returns its path.
std::filesystem::path write_run_report(const std::filesystem::path& folder, const RecipeRun& run,
                                       const RunSummary& summary, const History& history);

/// Writes 0.9873 as "98.73 %"; what is not a number as "–".
std::string percent(double fraction);
std::string seconds_text(double seconds);

}  // namespace antichain::app
