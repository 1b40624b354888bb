// Ops that move elements without computing: reshape, transpose, broadcast, flip, tile.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns the same elements in another shape; one size may be -1 and is then worked out.
Var reshape(const Operand& x, const Dims& shape);
/// Likewise with a shape computed in the graph (i64[rank]); sizes that cannot be known now are left
/// to the run.
Var reshape(const Operand& x, Var shape);
/// Puts axis permutation[i] at position i; an empty permutation reverses the axes.
Var transpose(const Operand& x, const Ints& permutation = {});
/// Swaps two axes.
Var swap_axes(const Operand& x, std::int64_t a, std::int64_t b);
/// Moves an axis to another place; the others keep their order.
Var move_axis(const Operand& x, std::int64_t from, std::int64_t to);
/// Repeats axes of size 1 and adds leading axes.
Var broadcast_to(const Operand& x, const Dims& shape);
Var broadcast_to(const Operand& x, Var shape);
/// Adds up what broadcasting repeated: the transpose of broadcast_to.
Var sum_to(const Operand& x, const Dims& shape);
/// Inserts an axis of size 1.
Var expand_dims(const Operand& x, std::int64_t axis);
/// Drops an axis of size 1.
Var squeeze(const Operand& x, std::int64_t axis);
Var flip(const Operand& x, const Ints& axes);
/// Repeats the whole value counts[i] times along axis i.
Var tile(const Operand& x, const Ints& counts);

const OpDef& reshape_def();
const OpDef& reshape_dynamic_def();
const OpDef& transpose_def();
const OpDef& broadcast_to_def();
const OpDef& broadcast_dynamic_def();
const OpDef& sum_to_def();
const OpDef& flip_def();
const OpDef& tile_def();

std::vector<const OpDef*> shape_family();

}  // namespace antichain
