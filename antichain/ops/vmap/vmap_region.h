// Ops and regions computed for many copies at once, by the rules of vmap (OpDef::vmap). The steps
// of a chain are such copies where nothing is carried between them, and so are unit vectors along
// which a region is differentiated.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/vmap_context.h"

namespace antichain {

/// Computes an op for all copies, given what its inputs are outside, in the graph's current
/// region: once if nothing differs between the copies; or by its rule; through its decomposition;
/// or else copy by copy, as a chain that carries nothing, where the op says why. Throws
/// NotSupported if it has none of these.
std::vector<Mapped> vmap_op(Op op, std::span<const Mapped> inputs, Dim copies);
/// Does so only by the op's own rule; returns nothing where none applies. An op that nothing
/// differs for is computed once.
std::optional<std::vector<Mapped>> vmap_op_by_rule(Op op, std::span<const Mapped> inputs,
                                                   Dim copies);

/// Returns a value that has `shape` inside with the mapped axis, repeated where it is the same in
/// all copies.
Var with_mapped_axis(const Mapped& value, const Dims& shape, Dim copies);

/// Computes a region for all copies, with `arguments` for its parameters, and returns its results.
/// Those that no copy changes are the same in all of them.
std::vector<Mapped> vmap_region(Graph& graph, RegionId region, std::span<const Mapped> arguments,
                                Dim copies);
/// Returns which results of a region differ between copies, given which parameters do.
std::vector<bool> mapped_results(Graph& graph, RegionId region, const std::vector<bool>& params);

/// Says why a region cannot be computed for many copies at once: it has effects, or sizes that only
/// a run finds out. Empty if it can.
std::string why_not_vmap(Graph& graph, RegionId region);

}  // namespace antichain
