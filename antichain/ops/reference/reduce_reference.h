// Reductions over axes, in double or int64.
#pragma once

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Returns whether the attributes of a reduction name an axis: "axes", all where that is empty.
bool is_reduced(const Attrs& attrs, std::size_t axis);

void sum_reference(KernelContext& context);
void prod_reference(KernelContext& context);
void mean_reference(KernelContext& context);
void variance_reference(KernelContext& context);
void logsumexp_reference(KernelContext& context);
/// NaN wins; throws ShapeError when there is no element to choose from.
void min_reference(KernelContext& context);
void max_reference(KernelContext& context);

}  // namespace antichain
