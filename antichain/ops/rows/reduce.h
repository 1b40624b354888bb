// Reductions over axes (all axes when none are named) and the cumulative sum.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

Var sum(const Operand& x, const Ints& axes = {}, bool keep_dims = false);
Var prod(const Operand& x, const Ints& axes = {}, bool keep_dims = false);
Var mean(const Operand& x, const Ints& axes = {}, bool keep_dims = false);
/// Takes the smallest element; elements that tie share the gradient.
Var min(const Operand& x, const Ints& axes = {}, bool keep_dims = false);
Var max(const Operand& x, const Ints& axes = {}, bool keep_dims = false);
/// Returns log(sum(exp(x))) without overflow.
Var logsumexp(const Operand& x, const Ints& axes = {}, bool keep_dims = false);
/// Returns the mean squared distance from the mean, divided by (count - correction).
Var variance(const Operand& x, const Ints& axes = {}, bool keep_dims = false,
             std::int64_t correction = 0);
/// Returns the position (i64) of the smallest element along an axis, the first at a tie.
Var argmin(const Operand& x, std::int64_t axis, bool keep_dims = false);
Var argmax(const Operand& x, std::int64_t axis, bool keep_dims = false);
/// Adds up along an axis; exclusive leaves the element itself out, reverse starts at the end.
struct CumsumOptions {
  bool exclusive = false;
  bool reverse = false;
};
Var cumsum(const Operand& x, std::int64_t axis, CumsumOptions options = {});

const OpDef& sum_def();
const OpDef& prod_def();
const OpDef& mean_def();
const OpDef& reduce_min_def();
const OpDef& reduce_max_def();
const OpDef& logsumexp_def();
const OpDef& variance_def();

/// Returns the shape of what a reduction reduces with the reduced axes kept as 1.
Dims kept_shape(Op reduction);

std::vector<const OpDef*> reduce_family();

}  // namespace antichain
