#include "antichain/ops/catalogue.h"

#include <algorithm>
#include <numeric>

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

namespace {

// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

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
