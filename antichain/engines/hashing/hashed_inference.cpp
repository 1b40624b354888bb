#include "antichain/engines/hashing/hashed_inference.h"

#include "antichain/engines/hashing/hashed_layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::hashing {

namespace {

Var dense_values(const WideLayer& layer, Var x) {
  return matmul(x, cast(layer.weight, x.dtype()), {.transpose_b = true}) +
         cast(layer.bias, x.dtype());
}

// Active units and their values, of examples for themselves or of all of them.
struct UnitValues {
  Var ids, values;
};

// Puts what was computed into values of all units.
Var scattered(Var to, const UnitValues& own, const UnitValues& common) {
  if (own.ids.valid()) {
    to = scatter_add_along(to, reshape(own.ids, own.values.shape()), own.values, 1);
  }
  return common.ids.valid() ? scatter_add(to, common.ids, common.values, 1) : to;
}

// The values of all units [examples, units], active or not.
Var hashed_values(const WideLayer& layer, const HashedLayer& hashed, Var x, bool is_last) {
  Graph& graph = x.graph();
  const ActiveOptions& options = hashed.options().active;
  const ActiveUnits units = hashed.active(x, {});
  UnitValues own, common;
  std::vector<Var> parts;
  if (options.own() > 0) {
    const Var starts = iota(graph, DType::i64, x.dim(0) + 1) * options.own();
    const Csr pattern{{}, units.ids, starts, layer.weight.dim(0)};
    const Var products = csr_sampled_matmul(pattern, cast(x, layer.weight.dtype()), layer.weight);
    const Var values = products + gather(layer.bias, units.ids);
    own = {units.ids, cast(reshape(values, {x.dim(0), options.own()}), x.dtype())};
    parts.push_back(own.values);
  }
  if (options.common() > 0) {
    const Var rows = cast(gather(layer.weight, units.common), x.dtype());
    const Var bias = cast(gather(layer.bias, units.common), x.dtype());
    common = {units.common, matmul(x, rows, {.transpose_b = true}) + bias};
    parts.push_back(common.values);
  }
  const Var nothing = zeros(graph, x.dtype(), {x.dim(0), layer.weight.dim(0)});
  const Var values = scattered(nothing, own, common);
  if (!is_last) {
    return values;
  }
  for (UnitValues* const of : {&own, &common}) {
    of->values = of->ids.valid() ? ones_like(of->values) : Var();
  }
  const Var least = min(parts.size() == 1 ? parts[0] : concat(parts, 1), {1}, true);
  return select(greater(scattered(nothing, own, common), 0), values, least);
}

}  // namespace

Options for_inference(Options options) {
  if (options.inference_share > 0) {
    options.active.active = 0;
    options.share = options.inference_share;
  }
  options.active.shared = false;
  return options;
}

Var compute_values(const WideLayers& parts, const Options& options) {
  Var values = parts.x;
  for (std::size_t i = 0; i < parts.layers.size(); ++i) {
    const WideLayer& layer = parts.layers[i];
    const Var x = i == 0 ? values : relu(values);
    values = layer.own.empty() ? dense_values(layer, x)
                               : hashed_values(layer, HashedLayer(layer, options), x,
                                               i + 1 == parts.layers.size());
  }
  return values;
}

}  // namespace antichain::hashing
