// ConstantWork: what need be done only once where it is done to constants of the graph.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/base/function_ref.h"
#include "antichain/graph/var.h"

namespace antichain::cuda {

class ConstantWork {
 public:
  /// `constant` says whether what it is done to is the same in every run.
  ConstantWork(const Context& device, bool constant) : device_(device), constant_(constant) {}
  /// Calls `enqueue`, unless that was done and need not be done again. Waits for work that is done
  /// once: where something is wrong with the constants, every run is to say so.
  void run(FunctionRef<void()> enqueue);

 private:
  Context device_;
  bool constant_, is_done_ = false;
};

/// Returns whether an input of an op is a constant of the graph.
bool is_constant(Op op, int input);

}  // namespace antichain::cuda
