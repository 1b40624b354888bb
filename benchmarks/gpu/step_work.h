// What a training step cannot do without: arithmetic and traffic to memory.
#pragma once

#include <map>
#include <string>

#include "benchmarks/training_steps.h"

namespace antichain::bench {

struct StepWork {
  // Floating-point operations of matrix products and convolutions, as compiled, by the type of
  // their factors: "bf16".
  std::map<std::string, double> flops;
  // What every such step moves: states that it reads and writes, feeds and constants. Values in
  // between are not among them: they may stay in caches.
  double bytes = 0;
  double state_bytes = 0;  // of the states that it reads or writes
};

StepWork work_of(const TrainingStep& step);

}  // namespace antichain::bench
