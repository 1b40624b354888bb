// Programs that compute values again instead of keeping them (rematerialisation, activation or
// gradient checkpointing).
#pragma once

#include <span>

#include "antichain/passes/memory/stages.h"

namespace antichain {

/// Copies a program so that its stages run as the actions say. A stage that runs again computes its
/// values anew, from what is there then; ops with effects run once, and so do those whose sizes
/// only the run finds out. Results have the same bits. It must be the last pass: the order of ops
/// is the schedule, and copying once more would make equal ops one again.
GraphCopy rematerialise(const GraphCopy& program, const StagedProgram& stages,
                        std::span<const StageAction> actions);

}  // namespace antichain
