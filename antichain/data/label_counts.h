// How often labels occur, and what that says about those that are missing.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/data/dataset.h"

namespace antichain::data {

/// Returns how many points of a set whose batches have y_columns, as those of SparseDataset, have
/// each of `num_labels` labels. Looks at every point once.
std::vector<std::int64_t> label_counts(const Dataset& dataset, std::int64_t num_labels);

struct PropensityOptions {
  double a = 0.55, b = 1.5;  // fitted to Wikipedia; Amazon: 0.6 and 2.6 (Jain et al., 2016)
};
/// Returns 1 / p of each label, p being the probability that a true label is in the data at all,
/// which rare labels often are not (Jain, Prabhu and Varma, 2016, equation 3): with N points, n of
/// them with the label, 1 / p = 1 + (log N - 1) (b + 1)^a (n + b)^-a.
std::vector<double> inverse_propensities(const std::vector<std::int64_t>& counts,
                                         std::int64_t points,
                                         const PropensityOptions& options = {});

}  // namespace antichain::data
