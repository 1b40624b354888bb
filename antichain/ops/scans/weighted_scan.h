// weighted_scan: an affine recurrence whose matrices are weights that stay the same, between
// diagonals that do not (docs/design/scan.md). Walking back through a recurrent layer is one.
#pragma once

#include <string>
#include <vector>

#include "antichain/ops/scans/affine_scan.h"

namespace antichain {

/// Says what a step consists of. A state has `states` parts of equal size, g[0], g[1], ...; a step
/// adds up, for every part, b, products of the diagonals with parts, and products of weights:
///   g[to] := b[to] + Σ diagonal ∘ g[from] + Σ weight u,  u = Σ coefficient ∘ g[from].
struct WeightedForm {
  struct Diagonal {
    std::int64_t to, from;
    bool operator==(const Diagonal&) const = default;
  };
  struct Product {
    std::int64_t weight, from;  // a coefficient of the weight's u
    bool operator==(const Product&) const = default;
  };
  std::int64_t states = 1;
  std::vector<std::int64_t> weight_to = {};  // by weight: the part that its products are added to
  std::vector<Diagonal> diagonals = {};
  std::vector<Product> products = {};

  static WeightedForm of(const Attrs& attrs);
};

/// Whether there may be kernels: states must fit into registers, weights into the memory that a
/// block of threads shares.
bool fits_weighted_scan(const WeightedForm& form, std::int64_t units);

struct WeightedScanInputs {
  Var weights;                    // [weights, units, units]
  Var initial;                    // [..., states * units]
  std::vector<Var> diagonals;     // each [time, ..., units], as the form lists them
  std::vector<Var> coefficients;  // of the form's products, likewise
  Var b = {};                     // [time, ..., states * units]; none where nothing is added
};

/// Returns the states before each step, and the last. Of the algorithms there are `serial` and
/// `chunked`; `transposed` is not used.
/// With the attribute `factors`, which the pass scan-factors sets, there are further results: by
/// weight, what it is multiplied by in each step, u, [time, ..., units].
AffineScan weighted_scan(const WeightedForm& form, const WeightedScanInputs& inputs,
                         const AffineScanOptions& options = {});

const OpDef& weighted_scan_def();

}  // namespace antichain
