// The folder of a training run: run.json says what it is, beside it lie its checkpoints, its event
// files, its report.
#pragma once

#include <filesystem>
#include <string>

#include "recipes/recipe.h"
#include "recipes/recipe_run.h"

namespace antichain::app {

/// What a run was started with, and all that is needed to start it again.
struct RunDescription {
  std::string recipe;
  RecipeContext context;
};

/// Makes the folder of a new run: the one asked for, which must not hold a run yet, or the first
/// free one of runs/<recipe>-1, runs/<recipe>-2, …
std::filesystem::path make_run_folder(const std::string& asked, const std::string& recipe);
/// Writes run.json.
void describe_run(const std::filesystem::path& folder, const Recipe& recipe,
                  const RecipeContext& context);
/// Reads run.json; throws DataError when the folder holds no run.
RunDescription read_run(const std::filesystem::path& folder);

}  // namespace antichain::app
