// The training steps that are timed on a GPU, as benchmarks/peers/pytorch_models.py does them.
#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/training_steps.h"

namespace antichain::bench {

struct GpuCase {
  StepCase step;
  int level = CompilerOptions().level;  // of the compiler
  std::int64_t gradient_batch = 0;      // examples that gradients are checked on; 0: as in a step
  bool f64_on_device = false;  // the device itself computes what its gradients are compared with,
                               // where that takes the CPU too long
};

/// Returns all of them.
std::vector<GpuCase> gpu_cases();

}  // namespace antichain::bench
