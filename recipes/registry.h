// The list of built-in recipes.
#pragma once

#include <string_view>
#include <vector>

#include "recipes/recipe.h"

namespace antichain {

/// Returns every built-in recipe.
const std::vector<Recipe>& recipes();
/// Returns the recipe called `name`; throws InvalidArgument with the nearest name otherwise.
const Recipe& find_recipe(std::string_view name);

}  // namespace antichain
