// fused: element-wise ops and reductions of rows that are computed together, a piece at a time, so
// that what passes between them stays in registers or in the nearest caches. Compilers make them,
// users need not.
//
// The element-wise ops of a body have one shape, its domain, or that of its rows: the domain with
// its last axes, those that the reductions of the body reduce, kept as 1. What is computed for
// rows may be broadcast back to the domain.
#pragma once

#include <functional>

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

/// Returns whether an op computes each element of its only output from the elements at the same
/// place of its broadcast inputs.
bool is_elementwise(const OpDef& def);

/// Returns whether an op is a sum, product, mean, minimum or maximum over the last axes.
bool reduces_rows(Op op);

/// Says what the body of a fused op walks.
struct FusedShape {
  Dims domain;
  Dims rows;  // as the domain, where everything has its shape
  /// Returns how many of the last axes make a row.
  std::size_t row_axes() const;
};
FusedShape fused_shape(Graph& graph, RegionId body);

/// Builds `body` as one op.
Vars fused(Graph& graph, const std::function<Vars()>& body, Place place = Place::current());
const OpDef& fused_def();

/// Adds the op for a body that was just finished.
Op add_fused(Graph& graph, RegionId body, const Vars& captures, Place place,
             const OpDef& def = fused_def());

std::vector<const OpDef*> fusion_family();

}  // namespace antichain
