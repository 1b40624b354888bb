// Updates of rows by a gradient that is a product: no row of it is kept longer than its update.
#pragma once

#include "antichain/backends/cpu/simd/row_loops.h"
#include "antichain/backends/cpu/simd/update_loops.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Plans an update that forms each row once, and applies the rule to it once.
KernelFunction update_rows_by_product(UpdateLoop loop, const RowLoops& rows_of,
                                      const KernelContext& context);
/// Plans one that applies the rule for each value of the product by itself: threads race for rows,
/// as antichain/ops/state/row_updates.h says.
KernelFunction update_rows_lock_free(UpdateLoop loop, const RowLoops& rows_of,
                                     const KernelContext& context);

}  // namespace antichain::cpu
