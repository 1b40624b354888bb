// What can be set about the chain of a recipe that has one.
#pragma once

#include <vector>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/session/session.h"
#include "recipes/recipe.h"

namespace antichain {

/// Returns a recipe's options followed by those that all recipes with a chain have.
std::vector<RecipeOption> with_chain_options(std::vector<RecipeOption> options);

/// Returns how the chain of a recipe runs forward.
ForwardOptions forward_of(const Recipe& recipe, const RecipeSettings& settings);

/// Says to the session how the engine `scan` goes about the chain of a recipe.
void set_scan_options(const Recipe& recipe, const RecipeSettings& settings,
                      SessionOptions& options);

}  // namespace antichain
