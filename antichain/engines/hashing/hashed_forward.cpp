#include "antichain/engines/hashing/hashed_forward.h"

#include <optional>
#include <utility>

#include "antichain/engines/hashing/hashed_layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain::hashing {

namespace {

// The values of active units: those that examples have for themselves, and those of common ones.
// None where there are no such units.
struct ActiveValues {
  Var own;     // [examples, own]
  Var common;  // [examples, common]
  ActiveUnits units;
};

// The own units of every example as the rows of a sparse matrix.
Csr pattern_of(const ActiveUnits& units, Dim examples, std::int64_t own, Var values,
               Dim num_columns) {
  const Var starts = iota(units.ids.graph(), DType::i64, examples + 1) * own;
  return {values, units.ids, starts, num_columns};
}

ActiveValues values_of(const WideLayer& layer, const HashedLayer& hashed, Var x,
                       const LabelRows& truth) {
  const ActiveOptions& options = hashed.options().active;
  ActiveValues result{.own = {}, .common = {}, .units = hashed.active(x, truth)};
  const ActiveUnits& units = result.units;
  if (options.own() > 0) {
    const Csr pattern = pattern_of(units, x.dim(0), options.own(), {}, layer.weight.dim(0));
    const Var products = csr_sampled_matmul(pattern, cast(x, layer.weight.dtype()), layer.weight);
    result.own = reshape(products + gather(layer.bias, units.ids), {x.dim(0), options.own()});
  }
  if (options.common() > 0) {
    const Var rows = cast(gather(layer.weight, units.common), x.dtype());
    const Var bias = cast(gather(layer.bias, units.common), x.dtype());
    result.common = matmul(x, rows, {.transpose_b = true}) + bias;
  }
  return result;
}

// The values of a layer behind relu, zeros for units that are not active.
Var with_zeros(const ActiveValues& of, Dim units, DType dtype) {
  const Var some = of.own.valid() ? of.own : of.common;
  Var all = zeros(some.graph(), dtype, {some.dim(0), units});
  if (of.own.valid()) {
    const Var active = cast(relu(of.own), dtype);
    all = scatter_add_along(all, reshape(of.units.ids, active.shape()), active, 1);
  }
  if (of.common.valid()) {
    all = scatter_add(all, of.units.common, cast(relu(of.common), dtype), 1);
  }
  return all;
}

// The values of a dense layer behind a hashed one: products with the active units alone.
Var dense_behind(const WideLayer& layer, const ActiveValues& before, DType dtype) {
  Var values = cast(layer.bias, dtype);
  if (before.own.valid()) {
    const Var active = cast(relu(before.own), layer.weight.dtype());
    const Csr sparse = pattern_of(before.units, active.dim(0), active.dim(1).constant(),
                                  reshape(active, {numel(active.shape())}), layer.weight.dim(1));
    values = values + cast(csr_matmul(sparse, transpose(layer.weight)), dtype);
  }
  if (before.common.valid()) {
    const Var columns = cast(gather(layer.weight, before.units.common, 1), dtype);
    values = values + matmul(cast(relu(before.common), dtype), columns, {.transpose_b = true});
  }
  return values;
}

Var losses_of(const ActiveValues& of, const LabelRows& truth) {
  std::vector<Var> parts;
  if (of.own.valid()) {
    const DType wide = buffer_dtype(of.own.dtype());
    parts.push_back(cast(of.own, wide) + reshape(cast(of.units.correction, wide), of.own.shape()));
  }
  if (of.common.valid()) {
    const DType wide = buffer_dtype(of.common.dtype());
    parts.push_back(cast(of.common, wide) + cast(of.units.common_correction, wide));
  }
  const Var values = parts.size() == 1 ? parts[0] : concat(parts, 1);
  const Var chosen = gather(reshape(values, {numel(values.shape())}), of.units.slots);
  return label_losses(logsumexp(values, {1}), chosen, truth);
}

Var share_of(Var count, Dim examples, const HashedLayer& layer) {
  const Var all =
      cast(dim_value(count.graph(), layer.options().active.shared ? 1 : examples), f64) *
      static_cast<double>(layer.options().active.active);
  return cast(count, f64) / maximum(all, 1);
}

}  // namespace

Computed compute_active(const WideLayers& parts, const Options& options) {
  Graph& graph = parts.graph();
  Var dense = parts.x;                 // the input of a layer ...
  std::optional<ActiveValues> active;  // ... or that of which it is made
  double units = 0, chosen = 0;
  std::vector<ActiveUnits> of_layers(parts.layers.size());
  Var found;
  for (std::size_t i = 0; i < parts.layers.size(); ++i) {
    const WideLayer& layer = parts.layers[i];
    const bool is_last = i + 1 == parts.layers.size();
    if (layer.own.empty()) {
      if (active) {
        dense = dense_behind(layer, *active, parts.x.dtype());
        active.reset();
      } else {
        dense = matmul(i == 0 ? dense : relu(dense), cast(layer.weight, dense.dtype()),
                       {.transpose_b = true}) +
                cast(layer.bias, dense.dtype());
      }
      continue;
    }
    const HashedLayer hashed(layer, options);
    const Var x = active   ? with_zeros(*active, layer.weight.dim(1), parts.x.dtype())
                  : i == 0 ? dense
                           : relu(dense);
    active =
        values_of(layer, hashed, x, is_last && parts.gives_losses() ? parts.truth : LabelRows{});
    of_layers[i] = active->units;
    units += static_cast<double>(hashed.options().active.units);
    chosen += static_cast<double>(hashed.options().active.active);
    found = share_of(active->units.found, x.dim(0), hashed);
  }
  Computed result{.output = dense,
                  .active_share = scalar(graph, f64, units == 0 ? 1 : chosen / units),
                  .found_share = found.valid() ? found : scalar(graph, f64, 0),
                  .units = std::move(of_layers)};
  if (!parts.gives_losses()) {
    return result;
  }
  if (active) {
    result.output = losses_of(*active, parts.truth);
    return result;
  }
  const DType wide = buffer_dtype(dense.dtype());
  const Var logits = cast(dense, wide);
  result.output =
      label_losses(logsumexp(logits, {1}), label_logits_of(logits, parts.truth), parts.truth);
  return result;
}

}  // namespace antichain::hashing
