#include "antichain/nn/ranking.h"

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/wide/label_losses.h"

namespace antichain::nn {

namespace {

Var examples_of_labels(const LabelSets& truth) {
  return examples_of({truth.labels, truth.row_starts});
}

Var first_columns(Var x, std::int64_t k) { return slice(x, {{.axis = 1, .stop = k}}); }

// Of the first k columns, divided by k.
Var share_of(Var x, std::int64_t k) {
  return sum(first_columns(x, k), {1}) / static_cast<double>(k);
}

void require_ranked(std::string_view kind, const Ranking& ranking, std::int64_t k) {
  require(ranking.hits.valid(), "{}: there is no ranking", kind);
  require_positive(kind, "k", k);
  require((ranking.hits.dim(1) - k).range().max >= 0, "{}: k is {}, but only {} labels are ranked",
          kind, k, ranking.hits.dim(1).str());
}

// The score of each true label, in the order of examples and of falling scores, and the position
// among those of its example.
struct RankedScores {
  Var scores, examples, positions;
};

RankedScores rank_scores(const LabelSets& truth, Var scores) {
  const Var rows = examples_of_labels(truth);
  // Stable: the second sorting keeps the order of the first within an example.
  const Sorted by_score = sort(gather(scores, as_type(truth.labels, DType::i64)), 0, true);
  const Sorted by_row = sort(gather(rows, by_score.indices));
  const Var starts = gather(as_type(truth.row_starts, DType::i64), by_row.values);
  return {gather(by_score.values, by_row.indices), by_row.values,
          iota(rows.graph(), DType::i64, rows.dim(0)) - starts};
}

}  // namespace

Ranking rank_labels(Var logits, const LabelSets& truth, std::int64_t k, Place place) {
  const UserCall call(logits, place);
  require(logits.valid() && logits.rank() == 2, "rank_labels: logits must be [examples, classes]");
  require_label_rows("rank_labels", truth);
  require_positive("rank_labels", "k", k);
  const Var best = top_k(logits, k).indices;
  const Var rows = examples_of_labels(truth);
  const Var found = equal(gather(best, rows), expand_dims(as_type(truth.labels, DType::i64), 1));
  const Var none = zeros(logits.graph(), DType::f32, {logits.dim(0), k});
  return {best, scatter_add(none, rows, as_type(found, DType::f32))};
}

Var precision_at(const Ranking& ranking, std::int64_t k, Place place) {
  const UserCall call(ranking.hits, place);
  require_ranked("precision_at", ranking, k);
  return share_of(ranking.hits, k);
}

ScoredPrecision scored_precision_at(const Ranking& ranking, const LabelSets& truth, Var scores,
                                    std::int64_t k, Place place) {
  const UserCall call(ranking.hits, place);
  require_ranked("scored_precision_at", ranking, k);
  require(scores.valid() && scores.rank() == 1 && is_float(scores.dtype()),
          "scored_precision_at: scores must be floating-point, one for each label");
  require_label_rows("scored_precision_at", truth);
  scores = as_type(scores, DType::f32);
  const Var reached = share_of(ranking.hits * gather(scores, ranking.labels), k);
  const RankedScores best = rank_scores(truth, scores);
  const Var counted = select(less(best.positions, k), best.scores, 0);
  const Var none = zeros(scores.graph(), DType::f32, {ranking.hits.dim(0)});
  return {reached, scatter_add(none, best.examples, counted) / static_cast<double>(k)};
}

}  // namespace antichain::nn
