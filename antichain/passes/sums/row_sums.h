// Sums over rows of which there are many, while columns are few, as the gradients of weights and
// biases are: which ops these are.
#pragma once

#include "antichain/graph/graph.h"

namespace antichain {

/// Returns whether columns are few: known, and no more than kernels for tall matrices take.
bool is_few(Dim size);

/// Returns whether rows are many. Sizes that only a run tells count batches and steps.
bool is_many(Dim size);

/// Returns the product of all axes but the last.
Dim num_rows(Var value);

/// Returns whether an op adds up the rows of its input.
bool is_sum_of_rows(Op op);

/// Returns whether an op multiplies two different matrices, with few columns in the result.
bool is_narrow_product(Op op);

}  // namespace antichain
