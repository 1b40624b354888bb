// What a run costs in floating-point operations, counted while it runs.
#pragma once

#include "antichain/runtime/run_observer.h"

namespace antichain {

/// Counts the floating-point operations of matrix products and convolutions: two for a
/// multiplication with its addition. What other ops do is small beside these and bounded by memory.
class FlopCounter final : public RunObserver {
 public:
  void ran(const OpEvent& event) override;
  double flops() const { return flops_; }

 private:
  double flops_ = 0;
};

}  // namespace antichain
