// The steps of a chain side by side, and their derivatives.
#pragma once

#include "antichain/engines/scan/stacked_body.h"
#include "antichain/graph/derivative_context.h"

namespace antichain::scan {

/// Builds the body of the chain that is differentiated for all steps at once, in the current
/// region.
class StackedSteps {
 public:
  explicit StackedSteps(const VjpContext& context)
      : context_(context), body_(context.op(), states_before(context.op())) {}

  const JointState& joint() const { return body_.joint(); }
  /// Returns the body itself.
  const StackedBody& body() const { return body_; }
  /// Returns what the gradients of the states before each step get from elsewhere than the states
  /// after it: [time, batch_axes..., size]; none where they get nothing.
  Var local_gradients() const;
  /// Returns the gradient of the last states: [batch_axes..., size].
  Var last_gradient() const;

 private:
  const VjpContext& context_;
  StackedBody body_;
};

}  // namespace antichain::scan
