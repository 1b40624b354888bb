// vmap of ops that look up and add by indices.
#pragma once

#include <optional>
#include <vector>

#include "antichain/graph/vmap_context.h"

namespace antichain {

/// Looks up in one axis more, or, where indices differ from copy to copy, in the slices of all
/// copies one behind the other.
std::optional<std::vector<Var>> vmap_gather(VmapContext& context);
std::optional<std::vector<Var>> vmap_scatter_add(VmapContext& context);
/// Rows of one table for the indices of all copies.
std::optional<std::vector<Var>> vmap_embedding(VmapContext& context);
/// Windows that start elsewhere in each copy are looked up element by element.
std::optional<std::vector<Var>> vmap_dynamic_slice(VmapContext& context);
std::optional<std::vector<Var>> vmap_dynamic_set_slice(VmapContext& context);

}  // namespace antichain
