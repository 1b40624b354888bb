// How far the gradients of a training step are from those of the same model in f64.
#pragma once

#include <cstdint>
#include <string>

#include "benchmarks/gpu/gpu_cases.h"

namespace antichain::bench {

struct GradientError {
  double largest = 0;          // over all parameters: max |g - g64| / max |g64|
  std::string parameter = {};  // whose that is
  std::int64_t batch = 0;
  std::string oracle = {};  // the device that computed in f64
};

/// Compares the gradients that `device` computes, as it does in a step, with those of f64 at the
/// same parameters. A parameter whose gradient is 0 but for rounding is
/// left out: the keys' bias of attention has such a one. Throws DataError when a gradient is not
/// finite.
GradientError gradient_error(const GpuCase& gpu_case, const CompilerOptions& options,
                             const std::string& device);

}  // namespace antichain::bench
