// The pass that takes out conversions that change nothing.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies without the conversions in between that lose nothing: to f32 and back to bf16 is nothing,
/// to f32 and on to f64 is one step.
GraphCopy clean_casts(const GraphCopy& source);
/// Returns whether there are conversions of conversions.
bool has_double_casts(Graph& graph);

}  // namespace antichain
