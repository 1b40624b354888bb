#include "antichain/passes/simplify/zero_values.h"

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

bool is_all_zero(Var value) {
  while (made_by(value, broadcast_to_def()) || made_by(value, reshape_def()) ||
         made_by(value, cast_def())) {
    value = value.producer().input(0);
  }
  return made_by(value, constant_def()) && value.rank() == 0 &&
         value.producer().attrs().get<Tensor>("value").item<double>() == 0;
}

}  // namespace antichain
