// What sizes a graph may reckon with, by an example of what it will be fed.
#pragma once

#include "antichain/runtime/executable.h"

namespace antichain {

/// Makes the sizes of an example's tensors the expected ones (DimInfo) of the named dims of the
/// inputs they are for. Say so when the inputs are declared and before gradients are asked for:
/// engines choose how to differentiate by the sizes they know. Any other sizes may be run, too.
void expect_sizes(Graph& graph, const Feeds& example);

}  // namespace antichain
