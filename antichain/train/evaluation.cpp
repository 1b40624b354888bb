#include "antichain/train/evaluation.h"

#include <algorithm>
#include <numeric>

#include "antichain/base/error.h"

namespace antichain {

namespace {

double total(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// How many results of an executable belong to metrics.
std::size_t count_results(const std::vector<Metric>& metrics) {
  const auto ratios = std::ranges::count_if(metrics, &Metric::is_ratio);
  return metrics.size() + static_cast<std::size_t>(ratios);
}

}  // namespace

Score evaluate(const Evaluation& evaluation) {
  data::Batches batches(evaluation.set, {.batch = evaluation.batch, .shuffle = false});
  const auto examples = static_cast<double>(evaluation.set->size());
  require(examples > 0, "there is nothing to evaluate on in '{}'", evaluation.name);
  const std::size_t behind = count_results(evaluation.metrics);
  std::vector<double> totals;
  Results results;
  data::Batch batch;
  batches.start(0);
  while (batches.next(batch)) {
    evaluation.executable.run_into(results, batch);
    const std::size_t found = results.size();
    require(found == 1 + behind || found == 2 + behind,
            "an evaluation returns losses, perhaps hits, and {} results for its metrics; that of "
            "'{}' returns {}",
            behind, evaluation.name, found);
    totals.resize(found);
    for (std::size_t i = 0; i < found; ++i) {
      totals[i] += total(results[i]);
    }
  }
  Score score{.loss = totals[0] / examples};
  if (totals.size() == 2 + behind) {
    score.accuracy = totals[1] / examples;
  }
  std::size_t next = totals.size() - behind;
  for (const Metric& metric : evaluation.metrics) {
    const double reached = totals[next++];
    score.metrics[metric.name] = reached / (metric.is_ratio ? totals[next++] : examples);
  }
  return score;
}

}  // namespace antichain
