#include "antichain/engines/scan/stacked_steps.h"

#include <algorithm>

#include "antichain/ops/shape/creation.h"

namespace antichain::scan {

Var StackedSteps::last_gradient() const {
  Vars grads;
  for (const JointState::Part& part : joint().parts) {
    grads.push_back(context_.grad(part.state));
  }
  return joint().join(grads);
}

Var StackedSteps::local_gradients() const {
  Vars grads = gradients_from_outputs(context_, body_.steps());
  if (std::ranges::none_of(grads, &Var::valid)) {
    return {};
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    grads[i] = grads[i].valid() ? grads[i] : zeros_like(body_.before()[i]);
  }
  return joint().join(grads);
}

}  // namespace antichain::scan
