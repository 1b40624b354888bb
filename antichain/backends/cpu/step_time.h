// How long ops take on a CPU, roughly.
#pragma once

#include "antichain/runtime/backend.h"

namespace antichain::cpu {

/// Estimates the time of an op by one thread and by `threads`.
StepTime step_time(Op op, const DimEnv& sizes, int threads);

}  // namespace antichain::cpu
