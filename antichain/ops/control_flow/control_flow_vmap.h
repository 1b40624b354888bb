// vmap of ops with regions: their bodies are mapped.
#pragma once

#include <optional>
#include <vector>

#include "antichain/graph/vmap_context.h"

namespace antichain {

/// One call whose body computes all copies.
std::optional<std::vector<Var>> vmap_call(VmapContext& context);
/// One chain whose steps compute all copies. States that no copy changes are carried once.
std::optional<std::vector<Var>> vmap_chain(VmapContext& context);
/// One cond for all copies or, where copies go different ways, both bodies for all copies, and a
/// choice between what they return. A gradient then passes through both, by 0 through the body
/// that is not chosen, which is NaN where that has an infinite slope.
std::optional<std::vector<Var>> vmap_cond(VmapContext& context);
/// Both functions for all copies. A gradient that copies share is the sum of theirs.
std::optional<std::vector<Var>> vmap_custom_gradient(VmapContext& context);

/// Why copies of an op are computed one by one where its body cannot be mapped.
inline constexpr const char* kBodyIsNotMapped =
    "its body has effects or finds out sizes when it runs";

}  // namespace antichain
