// The list of all operators.
#pragma once

#include <string_view>
#include <vector>

#include "antichain/graph/op_def.h"

namespace antichain {

/// Operators that belong together, under the title that the reference gives them.
struct OpFamily {
  std::string_view title;
  std::vector<const OpDef*> ops;
};

/// Returns the families of operators, from the simple to the involved.
const std::vector<OpFamily>& op_families();
/// Returns every operator, family by family.
const std::vector<const OpDef*>& op_catalogue();
/// Returns the operator called `name`; throws InvalidArgument with the nearest name otherwise.
const OpDef& find_op(std::string_view name);

}  // namespace antichain
