// Steps of optimisers on some rows of a parameter and its buffers: a warp per row.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// Adds kernels for the ops of antichain/ops/state/row_updates.h and for sum_row_squares.
void register_row_updates(KernelTable& kernels, const Context& context);

/// How the rows of a gradient are chosen.
enum class RowChoice { all, ids, marks };

/// Returns the text of the kernel of a rule with so many states, of which the first is a `dtype`.
std::string row_update_text(const std::string& rule, DType dtype, DType gradient,
                            std::size_t states, RowChoice choice);
/// Returns the text of the kernels that add up gradients by rows.
std::string accumulate_rows_text(DType dtype, RowChoice choice);
/// Returns the text of the kernels of sum_row_squares of values that are rounded first.
std::string row_squares_text(DType dtype, DType rounded, bool marked);

}  // namespace antichain::cuda
