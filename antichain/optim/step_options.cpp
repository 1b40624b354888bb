#include "antichain/optim/step_options.h"

#include "antichain/ops/state/state_ops.h"

namespace antichain::optim {

ParameterFilter named(std::string prefix) {
  return [prefix = std::move(prefix)](Var parameter) {
    return state_name(parameter).starts_with(prefix);
  };
}

ParameterFilter matrices() {
  return [](Var parameter) { return parameter.rank() >= 2; };
}

}  // namespace antichain::optim
