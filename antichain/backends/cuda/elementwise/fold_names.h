// Which fold of device/fold.cuh an op that reduces is.
#pragma once

#include <optional>
#include <string_view>

#include "antichain/graph/op_def.h"

namespace antichain::cuda {

struct FoldName {
  std::string_view name;
  bool averages = false;  // the total is divided by the count
  bool chooses = false;   // there must be an element
};
/// Returns nothing for other ops.
std::optional<FoldName> find_fold(const OpDef& def);

}  // namespace antichain::cuda
