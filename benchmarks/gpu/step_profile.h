// Where the time of a step on a device goes.
#pragma once

#include <string>

#include "benchmarks/training_steps.h"

namespace antichain::bench {

/// Runs a step op by op, waits for the device behind each, and returns what they took: a row per op
/// and sizes, the dearest first. Waiting takes a few microseconds, which every op is charged with.
std::string profile_table(const TrainingStep& step);

}  // namespace antichain::bench
