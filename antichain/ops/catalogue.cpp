#include "antichain/ops/catalogue.h"

#include "antichain/base/edit_distance.h"
#include "antichain/base/error.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/convolution/channel_sums.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/cast_all.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/attention.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/along_axis.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/noise_site.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_ops.h"
#include "antichain/ops/wide/wide_layers.h"

namespace antichain {

const std::vector<OpFamily>& op_families() {
  static const std::vector<OpFamily> families = {
      {"Creation and sizes", creation_family()},
      {"Element-wise, one value", elementwise_unary_family()},
      {"Element-wise, two values", elementwise_binary_family()},
      {"Element-wise, gradients", elementwise_gradient_family()},
      {"Element-wise, others", elementwise_other_family()},
      {"Reductions", reduce_family()},
      {"Along an axis", along_axis_family()},
      {"Scans", scan_family()},
      {"Matrix products", matmul_family()},
      {"Convolution", convolution_family()},
      {"Pooling", pooling_family()},
      {"Normalisation and losses", normalization_family()},
      {"Normalisation, gradients", normalization_gradient_family()},
      {"Normalisation, sums of channels", channel_sum_family()},
      {"Attention", attention_family()},
      {"Shapes", shape_family()},
      {"Cutting and joining", slicing_family()},
      {"Indexing", indexing_family()},
      {"Sparse matrices", sparse_family()},
      {"Wide layers", wide_family()},
      {"Hashing", hashing_family()},
      {"Sorting", sorting_family()},
      {"Random numbers", random_family()},
      {"Noise of estimators", noise_family()},
      {"State", state_family()},
      {"Steps of optimisers", update_family()},
      {"Steps of optimisers, rows", row_update_family()},
      {"Watching values", debug_family()},
      {"Flow of gradients", gradient_family()},
      {"Control flow", control_flow_family()},
      {"Control flow, coarse grids", grid_step_family()},
      {"Fusion", fusion_family()},
      {"Fusion with products", product_fusion_family()},
      {"Several values at once", cast_all_family()},
  };
  return families;
}

const std::vector<const OpDef*>& op_catalogue() {
  static const std::vector<const OpDef*> catalogue = [] {
    std::vector<const OpDef*> all;
    for (const OpFamily& family : op_families()) {
      all.insert(all.end(), family.ops.begin(), family.ops.end());
    }
    return all;
  }();
  return catalogue;
}

const OpDef& find_op(std::string_view name) {
  const OpDef* nearest = nullptr;
  for (const OpDef* def : op_catalogue()) {
    if (def->name == name) {
      return *def;
    }
    if (!nearest || edit_distance(name, def->name) < edit_distance(name, nearest->name)) {
      nearest = def;
    }
  }
  fail<InvalidArgument>("there is no operator '{}'; did you mean '{}'?", name, nearest->name);
}

}  // namespace antichain
