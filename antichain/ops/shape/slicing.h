// Ops that cut and join: slice, set_slice, pad, concat, split, stack.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// A range of one axis. `stop` is excluded; negative constants count from the end; steps are
/// positive.
struct SliceRange {
  std::int64_t axis = 0;
  Dim start = 0;
  Dim stop = DimRange::kUnbounded;  // to the end
  std::int64_t step = 1;
};

/// Keeps the given ranges; axes that are not named are kept whole. Ranges are clamped to the axis.
Var slice(const Operand& x, const std::vector<SliceRange>& ranges);
/// Keeps one position of an axis and drops the axis; a negative constant counts from the end.
Var index(const Operand& x, std::int64_t axis, Dim position);
/// Keeps `sizes` elements from `start` (i64[rank], computed in the graph; clamped so that the slice
/// fits).
Var dynamic_slice(const Operand& x, Var start, const Dims& sizes);
/// Returns x with `update` written over the given ranges.
Var set_slice(const Operand& x, const Operand& update, const std::vector<SliceRange>& ranges);
/// Returns x with `update` written at `start` (i64[rank], clamped so that it fits).
Var dynamic_set_slice(const Operand& x, const Operand& update, Var start);
/// Adds before[i] and after[i] elements of `value` around axis i.
Var pad(const Operand& x, const Dims& before, const Dims& after, double value = 0);
Var concat(const std::vector<Var>& parts, std::int64_t axis, Place place = Place::current());
/// Cuts an axis into parts of the given sizes.
std::vector<Var> split(const Operand& x, const Dims& sizes, std::int64_t axis);
/// Joins values of one shape along a new axis.
Var stack(const std::vector<Var>& parts, std::int64_t axis, Place place = Place::current());

const OpDef& slice_def();
const OpDef& set_slice_def();
const OpDef& dynamic_slice_def();
const OpDef& dynamic_set_slice_def();
const OpDef& pad_def();
const OpDef& concat_def();
const OpDef& split_def();
const OpDef& stack_def();

std::vector<const OpDef*> slicing_family();

}  // namespace antichain
