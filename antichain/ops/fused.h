// fused: element-wise ops that are computed together, a piece at a time, so that what passes
// between them stays in registers or in the nearest cache. Compilers make them, users need not.
#pragma once

#include <functional>

#include "antichain/ops/control_flow.h"

namespace antichain {

/// Returns whether an op computes each element of its only output from the elements at the same
/// place of its broadcast inputs: what the body of a fused op may consist of.
bool is_elementwise(const OpDef& def);

/// Builds `body` as one op. All its ops must be element-wise and have the shape of the results, or
/// be plain numbers.
Vars fused(Graph& graph, const std::function<Vars()>& body, Place place = Place::current());
const OpDef& fused_def();

/// Adds the op for a body that was just finished.
Op add_fused(Graph& graph, RegionId body, const Vars& captures, Place place,
             const OpDef& def = fused_def());

std::vector<const OpDef*> fusion_family();

}  // namespace antichain
