// The folder of a training run: run.json says what it is, beside it lie its checkpoints, its event
// files, its report.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "antichain/base/folder_lock.h"
#include "recipes/recipe.h"
#include "recipes/recipe_run.h"

namespace antichain::app {

/// What a run was started with, and all that is needed to start it again.
struct RunDescription {
  std::string recipe;
  RecipeContext context;
};

/// A folder that is held as long as this lives: nobody else works in it.
struct RunFolder {
  std::filesystem::path path;
  std::shared_ptr<const FolderLock> lock;
};

/// Makes the folder of a new run: the one asked for, which must not hold a run yet, or the first
/// free one of runs/<recipe>-1, runs/<recipe>-2, …
RunFolder make_run_folder(const std::string& asked, const std::string& recipe);
/// Writes run.json.
void describe_run(const std::filesystem::path& folder, const Recipe& recipe,
                  const RecipeContext& context);
/// Reads run.json; throws DataError when the folder holds no run.
RunDescription read_run(const std::filesystem::path& folder);

}  // namespace antichain::app
