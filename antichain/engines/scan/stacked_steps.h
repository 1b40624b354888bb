// The steps of a chain side by side: its body for all steps at once, and derivatives of it.
#pragma once

#include <string>
#include <vector>

#include "antichain/engines/scan/joint_state.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/passes/stacked_ops.h"

namespace antichain::scan {

/// Says why the steps of a chain cannot be computed side by side, or their Jacobians not be written
/// down; empty if they can.
std::string why_not_stacked(Op chain);

/// Builds the body of the chain that is differentiated for all steps at once, in the current
/// region.
class StackedSteps {
 public:
  explicit StackedSteps(const VjpContext& context);

  const JointState& joint() const { return joint_; }
  /// Returns the transposed Jacobians of the steps, [time, places..., size, size], or their
  /// diagonals, [time, places..., 1].
  Var transposed_jacobians() const;
  /// Returns what the gradients of the states before each step get from elsewhere than the states
  /// after it: [time, places..., size].
  Var local_gradients() const;
  /// Returns the gradient of the last states: [places..., size].
  Var last_gradient() const;
  /// Given the gradients of the states after each step, one per part, sets those of the sequences
  /// and captured values that are needed.
  void add_input_gradients(const Vars& after_gradients, Vars& input_gradients) const;

 private:
  Vars values_after(const std::vector<Stacked>& results) const;
  Var y_of_all_steps(int y) const;
  Var unit_vectors(std::size_t part) const;

  const VjpContext& context_;
  Op chain_;
  ChainLayout layout_;
  JointState joint_;
  Dim length_;
  std::vector<Stacked> arguments_, results_;
  Vars before_;  // the states before each step, one per part
};

}  // namespace antichain::scan
