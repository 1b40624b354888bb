#include "antichain/nn/graph_layers.h"

#include <functional>

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::nn {

namespace {

// `times` multiplies the features by a weight.
Var gcn_layer(const Layer& layer, const Csr& adjacency, Dim in_features, std::int64_t out_features,
              const GcnOptions& options, const std::function<Var(Var weight)>& times) {
  require_positive("gcn", "out_features", out_features);
  require(adjacency.values.valid(), "gcn: the adjacency has no values");
  const Var weight = layer.parameter("weight", {in_features, out_features}, options.weight);
  const Csr matrix{layer.used(adjacency.values), adjacency.columns, adjacency.row_starts,
                   adjacency.num_columns};
  const Var product = csr_matmul(matrix, times(layer.used(weight)));
  if (!options.bias) {
    return product;
  }
  return product + layer.used(layer.parameter("bias", {out_features}, constant(0)));
}

}  // namespace

Var gcn(const Csr& adjacency, Var x, std::int64_t out_features, const GcnOptions& options,
        Place place) {
  const UserCall call(x, place);
  const Layer layer("gcn", x, options.name);
  const Dim in_features = require_features("gcn", x);
  require<ShapeError>(x.rank() == 2, "gcn: x must be [nodes, features], its shape is {}",
                      to_string(x.shape()));
  return gcn_layer(layer, adjacency, in_features, out_features, options,
                   [&](Var weight) { return matmul(x, weight); });
}

Var gcn(const Csr& adjacency, const Csr& x, std::int64_t out_features, const GcnOptions& options,
        Place place) {
  const UserCall call(x.values, place);
  require(x.values.valid(), "gcn: x has no values");
  const Layer layer("gcn", x.values, options.name);
  return gcn_layer(layer, adjacency, x.num_columns, out_features, options,
                   [&](Var weight) { return csr_matmul(x, weight); });
}

}  // namespace antichain::nn
