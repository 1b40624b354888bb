// The steps of a chain side by side, and the parts of its gradient that follow for all of them at
// once: what engines that find the states or their gradients in their own way share.
#pragma once

#include <vector>

#include "antichain/graph/derivative_context.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain {

/// Returns which states of a chain are floating-point numbers: those that have gradients.
std::vector<int> float_states(Op chain);
/// Returns the states before each step that a chain has as outputs.
Vars states_before(Op chain);

/// Builds the body of a chain for all steps at once, in the current region.
class ChainSteps {
 public:
  /// `before` are the states before each step, stacked, one per state of the chain.
  ChainSteps(Op chain, const Vars& before);

  Op chain() const { return chain_; }
  const ChainLayout& layout() const { return layout_; }
  Dim length() const { return length_; }
  /// Returns the values that stand for the parameters of the body.
  const std::vector<Mapped>& arguments() const { return arguments_; }
  /// Returns the value that stands for an input of the chain; of a state those before each step.
  Var argument(int input) const { return arguments_[static_cast<std::size_t>(1 + input)].value; }
  /// Returns the values of a state after each step.
  Var after(int state) const;
  /// Returns an output of all steps that is no state.
  Var y(int number) const;

 private:
  Op chain_;
  ChainLayout layout_;
  Dim length_;
  std::vector<Mapped> arguments_, results_;
};

/// Returns what the gradients of the states before each step get from elsewhere than the states
/// after it: one per float state, none where they get nothing.
Vars gradients_from_outputs(const VjpContext& context, const ChainSteps& steps);

/// Given the gradients of the states after each step, one per float state, sets those of the
/// sequences and captured values that are needed.
void add_input_gradients(const VjpContext& context, const ChainSteps& steps,
                         const Vars& after_gradients, Vars& input_gradients);

}  // namespace antichain
