// How ops become sparse transposed Jacobians: a table of rules, and unit vectors for the rest.
#pragma once

#include <functional>
#include <vector>

#include "antichain/engines/scan/sparse_jacobian.h"
#include "antichain/graph/graph.h"

namespace antichain::scan {

/// Builds a Jacobian in the graph's current region.
using BuildJacobian = std::function<SparseJacobian()>;

/// Finds the rule for how the first output of `op` depends on the value that is these inputs of it.
/// Nothing where there is none: sizes (but for that of the batch, the first axis of both) are not
/// known, examples mix, types differ, or a full matrix for an op without a rule of its own would be
/// large. Nothing is built before the function that it returns is called.
BuildJacobian find_jacobian(Op op, const std::vector<int>& inputs);

/// Returns whether a rule of the table would be used, and not unit vectors.
bool has_jacobian_rule(Op op, const std::vector<int>& inputs);

/// Builds the Jacobian from the gradients of the op along every unit vector of its output, all of
/// whose elements are stored.
SparseJacobian jacobian_by_unit_vectors(Op op, const std::vector<int>& inputs);

}  // namespace antichain::scan
