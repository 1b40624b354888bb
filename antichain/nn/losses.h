// Losses, one per example: the caller takes the mean. They are computed in f32 at least.
#pragma once

#include <optional>
#include <string_view>

#include "antichain/graph/graph.h"

namespace antichain::nn {

struct CrossEntropyOptions {
  double label_smoothing = 0;               // within [0, 1): the part of the target for all classes
  std::optional<std::int64_t> ignore = {};  // examples of this label count 0
  Var weights = {};                         // [classes]: how much an example of a class counts
};
/// Returns the loss of each row of logits[..., classes] against integer labels[...]: with
/// p = softmax(logits), smoothing s and weights w,
///   -(1 - s) w[label] log p[label] - (s / classes) sum over c of w[c] log p[c].
Var cross_entropy(Var logits, Var labels, const CrossEntropyOptions& options = {},
                  Place place = Place::current());

/// Returns the mean of (prediction - target)² over all axes but the first.
Var mse(Var prediction, Var target, Place place = Place::current());

/// Returns, element by element, -t log σ(x) - (1 - t) log(1 - σ(x)) for logits x and targets t in
/// [0, 1] of the same shape; numerically safe.
Var binary_cross_entropy(Var logits, Var targets, Place place = Place::current());

/// Sets of true labels, one per example. Give `multi_hot` [examples, classes] with 1 for a true
/// label and 0 elsewhere, or `labels` (integers, one example's behind the other's) with
/// `row_starts` [examples + 1] as in CSR.
struct LabelSets {
  Var multi_hot = {};
  Var labels = {};
  Var row_starts = {};
};
/// Requires labels with row_starts, for the function called `kind`.
void require_label_rows(std::string_view kind, const LabelSets& truth);
/// Returns the mean of -log softmax(logits)[y] over the true labels y of each row of
/// logits[examples, classes]; 0 for a row without any.
Var multi_label_softmax(Var logits, const LabelSets& truth, Place place = Place::current());
/// Returns the mean over the classes of binary_cross_entropy for each row of logits.
Var multi_label_binary(Var logits, const LabelSets& truth, Place place = Place::current());

/// Returns whether each label[...] is among the k largest of its row of logits[..., classes]; among
/// equals the first is the larger.
Var is_correct(Var logits, Var labels, std::int64_t k = 1, Place place = Place::current());
/// Returns how many labels are (i64 scalar).
Var correct(Var logits, Var labels, std::int64_t k = 1, Place place = Place::current());
/// Returns the 0/1 loss: 1 where the largest of a row is not at its label. It has no gradient.
Var zero_one(Var logits, Var labels, Place place = Place::current());

}  // namespace antichain::nn
