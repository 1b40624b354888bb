// Layers on graphs, whose nodes are the rows of x.
#pragma once

#include <string>

#include "antichain/nn/initialisers.h"
#include "antichain/ops/products/sparse.h"

namespace antichain::nn {

struct GcnOptions {
  std::string name = "gcn";
  bool bias = true;  // starts at 0
  Initialiser weight = glorot_uniform;
};
/// Returns adjacency · (x · weight) + bias (Kipf and Welling, 2017, equation 2) for x[nodes, in].
/// The values of the adjacency are taken as they are; the paper's are (D + I)^-½ (A + I) (D + I)^-½
/// with the degrees D. Creates "<name>.weight" of shape [in, out] and "<name>.bias" of shape [out].
Var gcn(const Csr& adjacency, Var x, std::int64_t out_features, const GcnOptions& options = {},
        Place place = Place::current());
/// Likewise for sparse x [nodes, in], as the words of texts are.
Var gcn(const Csr& adjacency, const Csr& x, std::int64_t out_features,
        const GcnOptions& options = {}, Place place = Place::current());

}  // namespace antichain::nn
