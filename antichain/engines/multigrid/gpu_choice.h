// Whether a chain is faster by multigrid on a GPU.
#pragma once

#include <string>

#include "antichain/engines/multigrid/multigrid_options.h"
#include "antichain/graph/graph.h"

namespace antichain::multigrid {

struct GpuChoice {
  bool by_multigrid;
  std::string reason;  // one sentence with the estimates that decided
};

/// Chooses by estimates of what a forward pass takes either way on an H200, at the sizes that are
/// known or expected (Dim::expected) when the graph is built; where one is not, step by step, which
/// is also how chains run that nobody has measured. Multigrid has to be faster by a margin.
GpuChoice choose_on_gpu(Op chain, const SolveOptions& options, std::int64_t levels);

}  // namespace antichain::multigrid
