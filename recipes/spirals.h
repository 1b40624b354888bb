// The recipe `spirals`: a small perceptron learns to tell the arms of a spiral apart.
#pragma once

#include "recipes/recipe.h"

namespace antichain {

Recipe spirals_recipe();

}  // namespace antichain
