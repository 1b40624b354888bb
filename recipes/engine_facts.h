// What engines are told about the training of a recipe, and what they keep from net to net.
#pragma once

#include <cstdint>

#include "antichain/session/session.h"
#include "recipes/recipe.h"

namespace antichain {

/// Tells engines how long training takes and after how many steps a batch comes again; throws
/// InvalidArgument where one wants batches to come again and their order is new in each epoch.
void tell_engines(Session& session, const RecipeContext& context, std::int64_t batches_per_epoch);

/// Returns whether all epochs have the same batches.
bool has_fixed_order(const Settings& settings);

/// Gives a net what engine multigrid keeps of one of half the depth: states at C-points, of which
/// there are twice as many, linearly in between.
void start_from_kept_states(StateStore& deeper, const StateStore& shallower);

/// Returns states at the ends of intervals, [batches or classes, intervals, ...], for twice as many
/// intervals.
Tensor refined_intervals(const Tensor& ends);

}  // namespace antichain
