#include "antichain/backends/cuda/elementwise/fold_names.h"

#include <unordered_map>

#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::cuda {

std::optional<FoldName> find_fold(const OpDef& def) {
  static const std::unordered_map<const OpDef*, FoldName> known = {
      {&sum_def(), {"FoldSum"}},
      {&mean_def(), {"FoldSum", true}},
      {&prod_def(), {"FoldProd"}},
      {&reduce_min_def(), {"FoldMin", false, true}},
      {&reduce_max_def(), {"FoldMax", false, true}},
      {&sum_to_def(), {"FoldSum"}},
  };
  const auto found = known.find(&def);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace antichain::cuda
