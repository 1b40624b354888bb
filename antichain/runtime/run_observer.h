// RunObserver: sees every op that has run. Profilers and value checks are observers.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "antichain/graph/graph.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain {

/// One op that has run. Region ops come after the ops of their bodies.
struct OpEvent {
  Op op;
  const std::string& where;  // description of the op and of where it was built
  const Kernel& kernel;
  std::span<const Tensor* const> inputs;
  std::span<Tensor* const> outputs;  // those that nobody reads may be undefined
  std::chrono::steady_clock::time_point start, end;
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void ran(const OpEvent& event) = 0;
};

}  // namespace antichain
