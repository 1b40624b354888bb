// The settings of a comparison: one model and one training for all engines.
#pragma once

#include <span>
#include <string>

#include "recipes/recipe.h"

namespace antichain {

/// Returns `settings` with what the recipe would settle differently for one of these engines set
/// for all of them. Throws InvalidArgument, naming the option, where two engines differ in what
/// they would have it be; the user must set it then.
Settings settings_for_all(const Recipe& recipe, const Settings& settings,
                          std::span<const std::string> engines);

/// Returns "hidden=12, epochs=25": the options in which one differs from another.
std::string differences(const Settings& settings, const Settings& from);

}  // namespace antichain
