// What an op costs, from its shapes alone.
#pragma once

#include <span>

#include "antichain/base/function_ref.h"
#include "antichain/graph/graph.h"

namespace antichain {

/// Counts the floating-point operations of matrix products, convolutions and attention: two for a
/// multiplication with its addition, also where element-wise ops are computed with it. What other
/// ops do is small beside these, and 0.
double flops(Op op, std::span<const Shape> inputs, std::span<const Shape> outputs);

/// Returns how often the regions of an op run: as long as a chain is, where that is known, or once.
double runs_of_bodies(Op op, const DimEnv& sizes);

/// What an op does, or one of those in its regions.
struct OpWork {
  Op op;
  double times = 1;     // how often it runs
  double flops = 0;     // as above, each time
  double bytes = 0;     // read and written each time; none by ops that only forward or have regions
  double elements = 0;  // of its largest input or output
};

/// Calls visit(work) for an op and for all ops in its regions. Sizes that are not known count as 1.
void for_each_work(Op op, const DimEnv& sizes, FunctionRef<void(const OpWork&)> visit);

/// Estimates how long an op takes at these sizes, its regions included, to compare ops with each
/// other: arithmetic and traffic to memory at the rates of a CPU core.
double estimated_seconds(Op op, const DimEnv& sizes);

}  // namespace antichain
