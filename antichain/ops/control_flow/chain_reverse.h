// Back-propagation through repeated steps: what the derivatives of chain and loop share.
#pragma once

#include "antichain/graph/derivative_context.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

/// Describes steps that have run: the body, what each step saw, and the gradients of what came out.
/// Gradients that are none are zero.
struct StepsToReverse {
  RegionId region;
  int states = 0;
  Dim length;
  bool reverse = false;
  Vars before;  // states before each step, stacked
  Vars xs;      // sequences
  std::vector<bool> x_needed;
  Vars captured;
  std::vector<bool> captured_needed;
  Vars last_grads;    // of the last states
  Vars before_grads;  // of the stacked states
  Vars y_grads;       // of the stacked outputs
};

/// Builds the chain that walks the steps backwards, recomputing the body from the states before
/// each step, and returns the gradients of initial states, xs and captured values.
Vars reverse_steps(const VjpContext& context, const StepsToReverse& steps);

}  // namespace antichain
