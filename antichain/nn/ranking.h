// How well labels are ranked, where an example has any number of them out of very many.
#pragma once

#include "antichain/nn/losses.h"

namespace antichain::nn {

/// The k best labels of each example, the best in front; among equals the first is better.
struct Ranking {
  Var labels;  // i64[examples, k]
  Var hits;    // [examples, k]: 1 for a true label, 0 for another
};
/// Ranks logits[examples, classes] against labels with row_starts, no label twice in a row.
Ranking rank_labels(Var logits, const LabelSets& truth, std::int64_t k,
                    Place place = Place::current());
/// Returns P@k [examples]: how many of the k best labels are true, divided by k. k is at most that
/// of the ranking.
Var precision_at(const Ranking& ranking, std::int64_t k, Place place = Place::current());

/// PSP@k is the sum of `reached` over a test set divided by that of `most`.
struct ScoredPrecision {
  Var reached;  // [examples]: the scores of the true labels among the k best, divided by k
  Var most;     // [examples]: the k largest scores of the true labels, divided by k
};
/// Returns the parts of the propensity-scored precision (Jain, Prabhu and Varma, 2016): a true
/// label counts its score[label], 1 / its propensity, so that rare labels count more.
ScoredPrecision scored_precision_at(const Ranking& ranking, const LabelSets& truth, Var scores,
                                    std::int64_t k, Place place = Place::current());

}  // namespace antichain::nn
