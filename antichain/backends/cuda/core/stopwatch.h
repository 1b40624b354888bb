// Stopwatch: how long work takes on the GPU.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/base/function_ref.h"

namespace antichain::cuda {

class Stopwatch {
 public:
  explicit Stopwatch(const Context& context);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Returns how long the GPU takes for what `work` enqueues, by itself: it is kept busy until all
  /// of it has been enqueued. Waits; not while kernels are recorded.
  float milliseconds(FunctionRef<void()> work);

 private:
  Context context_;
  Launch delay_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Returns the kernel that keeps the GPU busy.
std::string delay_text();

}  // namespace antichain::cuda
