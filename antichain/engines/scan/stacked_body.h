// The body of a chain for all of its steps at once: what a step does to the states, and how they
// move with the states before it.
#pragma once

#include <string>
#include <vector>

#include "antichain/autodiff/chain_steps.h"
#include "antichain/engines/scan/joint_state.h"

namespace antichain::scan {

/// Says why the steps of a chain cannot be computed side by side, or their Jacobians not be written
/// down; empty if they can.
std::string why_not_stacked(Op chain);

/// Builds the body of a chain for all steps at once, in the current region.
class StackedBody {
 public:
  /// `before` are the states before each step, stacked, one per state of the chain.
  StackedBody(Op chain, const Vars& before);

  const JointState& joint() const { return joint_; }
  /// Returns the steps themselves.
  const ChainSteps& steps() const { return steps_; }
  /// Returns the states before each step, one per part.
  const Vars& before() const { return before_; }
  /// Returns the states after each step, one per part.
  Vars after() const;
  /// Returns an output of all steps that is no state.
  Var y(int number) const { return steps_.y(number); }
  /// Returns the transposed Jacobians of the steps, [time, batch_axes..., size, size], or their
  /// diagonals, [time, batch_axes..., 1].
  Var transposed_jacobians() const;

 private:
  Var unit_vectors(std::size_t part) const;

  ChainSteps steps_;
  JointState joint_;
  Vars before_;
};

}  // namespace antichain::scan
