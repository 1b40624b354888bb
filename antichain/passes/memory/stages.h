// A training step as a sequence of stages, each with its way back.
#pragma once

#include <functional>
#include <vector>

#include "antichain/passes/graph_copy.h"
#include "antichain/passes/memory/rotor.h"

namespace antichain {

/// The ops of a program in their order: those on the way to the loss in stages, and the others by
/// the stage whose values they take first. The last stage comes back first.
struct StagedProgram {
  std::vector<std::vector<Op>> forward, backward;  // by stage
  std::vector<StageCost> costs;
};

/// Cuts what the first value of the program (the loss) needs where few bytes go from one part to
/// the next, into parts from which the rest takes about the same number of bytes. No stages where
/// the rest takes nothing from it. `seconds` says what an op costs.
StagedProgram split_into_stages(const GraphCopy& program, const DimEnv& sizes,
                                const std::function<double(Op)>& seconds,
                                std::size_t max_stages = 64);

}  // namespace antichain
