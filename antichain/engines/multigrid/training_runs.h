// What a solve remembers from one run of a training step to the next: how many there were, how many
// cycles it takes, how often in a row these were more than enough.
#pragma once

#include <optional>

#include "antichain/engines/multigrid/multigrid_options.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

/// Counts the runs of one solve, as a state that is saved with the model.
class TrainingRuns {
 public:
  /// Declares the state of a solve that is being built; nothing where its options need none, and
  /// inside of other chains, where there is no state.
  static std::optional<TrainingRuns> of(Graph& graph, const SolveOptions& options);

  /// Returns the number of cycles to run now.
  Var cycles() const;
  /// Returns whether steps are to run one after the other from now on (serial_after).
  Var is_serial() const;
  /// Returns whether this solve is to be compared with the steps one after the other (adaptive).
  Var is_checked() const;
  /// How a solve went.
  struct Convergence {
    Var residual, ratio;
    Var cosine;  // not a number where the solve was not checked; none: there are no checks
  };
  /// Returns carriers that count one more run when they are computed. Where this one was checked,
  /// the cosine decides on the number of cycles: one more below 0.9999, one fewer after two checks
  /// above 0.999999. Between two checks there is one more, once, where the last cycle left a
  /// quarter of the residual. The cosine is reported until the next check.
  Vars counted(const Vars& carriers, const Convergence& seen) const;

 private:
  TrainingRuns(std::string state, Var value, const SolveOptions& options)
      : state_(std::move(state)), value_(value), options_(options) {}
  Var part(int which) const;

  std::string state_;
  // f64: runs, cycles, checks in a row with more cycles than needed, last cosine, whether there was
  // one cycle more since then
  Var value_;
  SolveOptions options_;
};

}  // namespace antichain::multigrid
