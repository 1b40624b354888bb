// RunningSum: sums along an axis up to every element; a block of threads per line.
#pragma once

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cuda {

class RunningSum {
 public:
  struct Options {
    bool exclusive = false;  // leaves the element itself out
    bool reverse = false;    // starts at the end
  };
  RunningSum(const Context& device, DType dtype, const AxisSplit& lines, const Options& options);
  /// Enqueues it; the result may take the memory of the values.
  void run(const void* values, const void* result);

 private:
  Launch launch_;
};

/// Returns the text of its kernel.
std::string running_sum_text(DType dtype);

}  // namespace antichain::cuda
