// In which order the ops of a program run, where their dependencies leave it open.
#pragma once

#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// Takes ops in an order that respects their edges and returns them in a better one. A write of a
/// state runs as soon as it can, so that what it read, a gradient for example, need not be kept,
/// but behind the readers of the value that it replaces: then nobody holds that value any more, and
/// its memory is written again. Reads of states and small values move forward with it; the rest
/// stays.
std::vector<Op> order_steps(std::vector<Op> ops);

}  // namespace antichain
