#include "antichain/ops/catalogue.h"

#include "antichain/base/edit_distance.h"
#include "antichain/base/error.h"
#include "antichain/ops/along_axis.h"
#include "antichain/ops/control_flow.h"
#include "antichain/ops/convolution.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/debug_ops.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/gradient_ops.h"
#include "antichain/ops/indexing.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/normalization.h"
#include "antichain/ops/pooling.h"
#include "antichain/ops/random.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/shape_ops.h"
#include "antichain/ops/slicing.h"
#include "antichain/ops/sorting.h"
#include "antichain/ops/sparse.h"
#include "antichain/ops/state_ops.h"

namespace antichain {

const std::vector<const OpDef*>& op_catalogue() {
  static const std::vector<const OpDef*> catalogue = [] {
    std::vector<const OpDef*> all;
    for (const auto& family : {creation_family(),
                               elementwise_unary_family(),
                               elementwise_binary_family(),
                               elementwise_other_family(),
                               reduce_family(),
                               along_axis_family(),
                               matmul_family(),
                               convolution_family(),
                               pooling_family(),
                               normalization_family(),
                               shape_family(),
                               slicing_family(),
                               indexing_family(),
                               sparse_family(),
                               sorting_family(),
                               random_family(),
                               state_family(),
                               debug_family(),
                               gradient_family(),
                               control_flow_family()}) {
      all.insert(all.end(), family.begin(), family.end());
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
