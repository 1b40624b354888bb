// The list of all operators.
#pragma once

#include <string_view>
#include <vector>

#include "antichain/graph/op_def.h"

namespace antichain {

/// Returns every operator, family by family.
const std::vector<const OpDef*>& op_catalogue();
/// Returns the operator called `name`; throws InvalidArgument with the nearest name otherwise.
const OpDef& find_op(std::string_view name);

}  // namespace antichain
