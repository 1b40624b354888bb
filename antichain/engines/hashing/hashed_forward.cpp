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
#include "antichain/ops/state/update_ops.h"

namespace antichain::hashing {

namespace {

// The values of active units: [examples, active].
struct ActiveValues {
  Var values;
  ActiveUnits units;
  std::int64_t active;  // per example
  bool shared;
};

// The active units of every example as the rows of a sparse matrix.
Csr pattern_of(const ActiveValues& of, Var values, Dim num_columns) {
  Graph& graph = of.values.graph();
  const Var starts = iota(graph, DType::i64, of.values.dim(0) + 1) * of.active;
  return {values, of.units.ids, starts, num_columns};
}

ActiveValues values_of(const WideLayer& layer, const HashedLayer& hashed, Var x,
                       const LabelRows& truth) {
  const ActiveOptions& options = hashed.options().active;
  ActiveValues result{.values = {},
                      .units = hashed.active(x, truth),
                      .active = options.active,
                      .shared = options.shared};
  const Var bias = gather(layer.bias, result.units.ids);
  if (options.shared) {
    const Var rows = gather(layer.weight, result.units.ids);
    result.values = matmul(x, cast(rows, x.dtype()), {.transpose_b = true}) + cast(bias, x.dtype());
    return result;
  }
  const Dims shape = {x.dim(0), options.active};
  const Var wide = cast(x, layer.weight.dtype());
  result.values = reshape(bias, shape);  // for the shape alone, until the products are there
  const Csr pattern = pattern_of(result, {}, layer.weight.dim(0));
  result.values = reshape(csr_sampled_matmul(pattern, wide, layer.weight) + bias, shape);
  return result;
}

// The values of a layer behind relu, zeros for units that are not active.
Var with_zeros(const ActiveValues& of, Dim units) {
  const Var active = relu(of.values);
  const Var nothing = zeros(active.graph(), active.dtype(), {active.dim(0), units});
  return of.shared ? scatter_add(nothing, of.units.ids, active, 1)
                   : scatter_add_along(nothing, reshape(of.units.ids, active.shape()), active, 1);
}

// The values of a dense layer behind a hashed one: products with the active units alone.
Var dense_behind(const WideLayer& layer, const ActiveValues& before) {
  const Var active = relu(before.values);
  const Var bias = cast(layer.bias, active.dtype());
  if (before.shared) {
    const Var columns = cast(gather(layer.weight, before.units.ids, 1), active.dtype());
    return matmul(active, columns, {.transpose_b = true}) + bias;
  }
  const Var values = reshape(cast(active, layer.weight.dtype()), {numel(active.shape())});
  const Csr sparse = pattern_of(before, values, layer.weight.dim(1));
  return cast(csr_matmul(sparse, transpose(layer.weight)), active.dtype()) + bias;
}

Var losses_of(const ActiveValues& of, const LabelRows& truth) {
  const DType wide = buffer_dtype(of.values.dtype());
  const Var correction = cast(of.units.correction, wide);
  const Var values =
      cast(of.values, wide) + (of.shared ? correction : reshape(correction, of.values.shape()));
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
        dense = dense_behind(layer, *active);
        active.reset();
      } else {
        dense = matmul(i == 0 ? dense : relu(dense), cast(layer.weight, dense.dtype()),
                       {.transpose_b = true}) +
                cast(layer.bias, dense.dtype());
      }
      continue;
    }
    const HashedLayer hashed(layer, options);
    const Var x = active ? with_zeros(*active, layer.weight.dim(1)) : i == 0 ? dense : relu(dense);
    active =
        values_of(layer, hashed, x, is_last && parts.gives_losses() ? parts.truth : LabelRows{});
    of_layers[i] = active->units;
    units += static_cast<double>(hashed.options().active.units);
    chosen += static_cast<double>(active->active);
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
  const Var labels = take_along(gather(logits, examples_of(parts.truth)),
                                expand_dims(cast(parts.truth.labels, DType::i64), 1), 1);
  result.output = label_losses(logsumexp(logits, {1}), squeeze(labels, 1), parts.truth);
  return result;
}

}  // namespace antichain::hashing
