// The steps of a chain side by side, and their derivatives.
#pragma once

#include "antichain/engines/scan/stacked_body.h"
#include "antichain/graph/derivative_context.h"

namespace antichain::scan {

/// Builds the body of the chain that is differentiated for all steps at once, in the current
/// region.
class StackedSteps {
 public:
  explicit StackedSteps(const VjpContext& context);

  const JointState& joint() const { return body_.joint(); }
  /// Returns the body itself.
  const StackedBody& body() const { return body_; }
  /// Returns what the gradients of the states before each step get from elsewhere than the states
  /// after it: [time, batch_axes..., size]; none where they get nothing.
  Var local_gradients() const;
  /// Returns the gradient of the last states: [batch_axes..., size].
  Var last_gradient() const;
  /// Given the gradients of the states after each step, one per part, sets those of the sequences
  /// and captured values that are needed.
  void add_input_gradients(const Vars& after_gradients, Vars& input_gradients) const;

 private:
  const VjpContext& context_;
  Op chain_;
  ChainLayout layout_;
  StackedBody body_;
};

}  // namespace antichain::scan
