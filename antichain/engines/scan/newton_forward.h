// Chains that run forward by Newton's method, and who is told where that does not work.
#pragma once

#include <memory>
#include <optional>

#include "antichain/autodiff/engine.h"
#include "antichain/base/logger.h"
#include "antichain/engines/scan/newton_chain.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

/// Runs chains by Newton's method instead of step by step, and tells the log where that does not
/// work. Must outlive the graphs it has worked on.
class NewtonForward {
 public:
  /// Warnings go to the logger, one per chain.
  explicit NewtonForward(const Logger& logger);
  ~NewtonForward();

  /// Returns what stands for the outputs of a chain, in the current region; none where the method
  /// cannot be used, which is logged.
  std::optional<Vars> outputs(Op chain, scan::NewtonOptions options,
                              const ForwardContext& context) const;

 private:
  class Note;
  std::unique_ptr<Note> note_;
};

}  // namespace antichain
