// Which chains of a graph run by Newton's method, and who is told where that does not work.
#pragma once

#include <memory>

#include "antichain/base/logger.h"
#include "antichain/engines/scan/scan_engine.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

/// Replaces chains that ask for Newton's method (ForwardOptions) when a graph is compiled, after
/// derivatives have been built: those are of the chain. Must outlive the graphs it has worked on.
class NewtonForward {
 public:
  /// `options` say how scans are computed; warnings go to the logger, one per chain.
  NewtonForward(const ScanOptions& options, const Logger& logger);
  ~NewtonForward();

  /// Returns whether an op is a chain that asks for it.
  static bool is_asked_for(Op op);
  /// Returns what stands for the outputs of such a chain, in the current region: its own outputs
  /// where the method cannot be used, which is logged.
  Vars outputs(Op chain) const;

 private:
  class Note;
  ScanOptions options_;
  std::unique_ptr<Note> note_;
};

}  // namespace antichain
