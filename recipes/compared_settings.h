// The settings of a comparison: one model and one training for all engines.
#pragma once

#include <span>
#include <string>

#include "recipes/recipe.h"

namespace antichain {

/// Returns `settings` with what the recipe would settle differently for one of these engines set
/// for all of them. Throws InvalidArgument, naming the option, where two engines differ in what
/// they would have it be; the user must set it then.
RecipeSettings settings_for_all(const Recipe& recipe, const RecipeSettings& settings,
                                std::span<const std::string> engines);

/// Returns "hidden=12, epochs=25": the options in which one differs from another.
std::string differences(const RecipeSettings& settings, const RecipeSettings& from);

}  // namespace antichain
