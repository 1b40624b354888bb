// Reductions of rows in one form, so that what follows them can be computed together with them:
// they keep their axes as 1, `sum_to` is `sum` where it reduces the last axes, and an element-wise
// op on results from which those axes were dropped is computed before they are.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Returns whether there are reductions of rows, in any form.
bool has_reductions(Graph& graph);
/// Copies, with reductions of rows in that form.
GraphCopy bring_to_row_form(const GraphCopy& source);

}  // namespace antichain
