#include "antichain/data/label_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "antichain/base/error.h"

namespace antichain::data {

std::vector<std::int64_t> label_counts(const Dataset& dataset, std::int64_t num_labels) {
  constexpr std::int64_t kPoints = 4096;  // at once
  std::vector<std::int64_t> counts(static_cast<std::size_t>(num_labels));
  std::vector<std::int64_t> numbers;
  for (std::int64_t first = 0; first < dataset.size(); first += kPoints) {
    numbers.resize(static_cast<std::size_t>(std::min(kPoints, dataset.size() - first)));
    std::iota(numbers.begin(), numbers.end(), first);
    const Batch batch = dataset.take(numbers);
    const auto labels = batch.find("y_columns");
    require(labels != batch.end(), "labels can be counted only where a batch has y_columns");
    for (const auto label : labels->second.to_vector<std::int64_t>()) {
      require(label >= 0 && label < num_labels, "there is a label {} among {}, counted from 0",
              label, num_labels);
      ++counts[static_cast<std::size_t>(label)];
    }
  }
  return counts;
}

std::vector<double> inverse_propensities(const std::vector<std::int64_t>& counts,
                                         std::int64_t points, const PropensityOptions& options) {
  require(options.a > 0 && options.b > 0, "propensities need a and b above 0, got {} and {}",
          options.a, options.b);
  // Of fewer than e points the formula would give labels that are there more often than always.
  const double scale =
      std::max(0.0, std::log(static_cast<double>(std::max<std::int64_t>(1, points))) - 1) *
      std::pow(options.b + 1, options.a);
  std::vector<double> inverse;
  inverse.reserve(counts.size());
  for (const std::int64_t count : counts) {
    inverse.push_back(1 + scale * std::pow(static_cast<double>(count) + options.b, -options.a));
  }
  return inverse;
}

}  // namespace antichain::data
