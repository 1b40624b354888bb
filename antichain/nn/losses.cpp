#include "antichain/nn/losses.h"

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/wide/label_losses.h"

namespace antichain::nn {

namespace {

void require_float(std::string_view kind, std::string_view what, Var value) {
  require(value.valid(), "{}: there are no {}", kind, what);
  require<TypeError>(is_float(value.dtype()), "{}: {} must be floating-point, not {}", kind, what,
                     name(value.dtype()));
}

// Integers and flags as numbers of the type that the loss is computed in.
Var target_like(Var target, Var prediction) { return as_type(target, prediction.dtype()); }

Dims without_last(const Dims& shape) { return {shape.begin(), shape.end() - 1}; }

void require_same_shape(std::string_view kind, Var a, Var b) {
  require<ShapeError>(a.shape() == b.shape(), "{}: the shapes differ, {} and {}", kind,
                      to_string(a.shape()), to_string(b.shape()));
}

struct TrueLabels {
  Var sum;    // of the logits of an example's true labels
  Var count;  // of them
};

TrueLabels sum_multi_hot(std::string_view kind, Var logits, const LabelSets& truth) {
  require(!truth.labels.valid() && !truth.row_starts.valid(),
          "{}: give either multi_hot or labels with row_starts", kind);
  require_same_shape(kind, logits, truth.multi_hot);
  const Var target = target_like(truth.multi_hot, logits);
  return {sum(target * logits, {1}), sum(target, {1})};
}

LabelRows label_rows(std::string_view kind, const LabelSets& truth) {
  require_label_rows(kind, truth);
  return {as_type(truth.labels, DType::i64), truth.row_starts};
}

void require_rows(std::string_view kind, Var logits) {
  require_float(kind, "logits", logits);
  require<ShapeError>(logits.rank() == 2,
                      "{}: logits must be [examples, classes], their shape is {}", kind,
                      to_string(logits.shape()));
}

}  // namespace

void require_label_rows(std::string_view kind, const LabelSets& truth) {
  require_integers(kind, "labels", truth.labels);
  require_integers(kind, "row_starts", truth.row_starts);
  require<ShapeError>(truth.labels.rank() == 1 && truth.row_starts.rank() == 1,
                      "{}: labels and row_starts must have one axis, their shapes are {} and {}",
                      kind, to_string(truth.labels.shape()), to_string(truth.row_starts.shape()));
}

Var cross_entropy(Var logits, Var labels, const CrossEntropyOptions& options, Place place) {
  const UserCall call(logits, place);
  require_float("cross_entropy", "logits", logits);
  require_integers("cross_entropy", "labels", labels);
  require_fraction("cross_entropy", "label_smoothing", options.label_smoothing);
  logits = widened(logits);
  const Var ignored = options.ignore ? equal(labels, *options.ignore) : Var();
  if (options.ignore) {
    labels = select(ignored, 0, labels);
  }
  Var loss = antichain::cross_entropy(logits, labels);
  const Var weights = options.weights.valid() ? as_type(options.weights, logits.dtype()) : Var();
  if (weights.valid()) {
    require<ShapeError>(weights.rank() == 1, "cross_entropy: weights must be [classes], got {}",
                        to_string(weights.shape()));
    loss = loss * gather(weights, labels);
  }
  if (options.label_smoothing > 0) {
    const Var all = log_softmax(logits);
    const Var smooth = -mean(weights.valid() ? all * weights : all, {-1});
    loss = (1 - options.label_smoothing) * loss + options.label_smoothing * smooth;
  }
  return options.ignore ? select(ignored, 0, loss) : loss;
}

Var mse(Var prediction, Var target, Place place) {
  const UserCall call(prediction, place);
  require_float("mse", "predictions", prediction);
  require(target.valid(), "mse: there is no target");
  require_same_shape("mse", prediction, target);
  prediction = widened(prediction);
  const Var squares = square(prediction - target_like(target, prediction));
  Ints axes;
  for (int axis = 1; axis < squares.rank(); ++axis) {
    axes.push_back(axis);
  }
  return axes.empty() ? squares : mean(squares, axes);
}

// -t log σ(x) - (1 - t) log(1 - σ(x)) = log(1 + exp(x)) - t x.
Var binary_cross_entropy(Var logits, Var targets, Place place) {
  const UserCall call(logits, place);
  require_float("binary_cross_entropy", "logits", logits);
  require(targets.valid(), "binary_cross_entropy: there are no targets");
  require_same_shape("binary_cross_entropy", logits, targets);
  logits = widened(logits);
  return softplus(logits) - target_like(targets, logits) * logits;
}

Var multi_label_softmax(Var logits, const LabelSets& truth, Place place) {
  const UserCall call(logits, place);
  require_rows("multi_label_softmax", logits);
  logits = widened(logits);
  const Var log_sums = logsumexp(logits, {1});
  if (!truth.multi_hot.valid()) {
    const LabelRows rows = label_rows("multi_label_softmax", truth);
    return label_losses(log_sums, label_logits_of(logits, rows), rows);
  }
  const TrueLabels found = sum_multi_hot("multi_label_softmax", logits, truth);
  return select(greater(found.count, 0), log_sums - found.sum / maximum(found.count, 1), 0);
}

Var multi_label_binary(Var logits, const LabelSets& truth, Place place) {
  const UserCall call(logits, place);
  require_rows("multi_label_binary", logits);
  logits = widened(logits);
  Var true_sum;
  if (truth.multi_hot.valid()) {
    true_sum = sum_multi_hot("multi_label_binary", logits, truth).sum;
  } else {
    const LabelRows rows = label_rows("multi_label_binary", truth);
    true_sum = scatter_add(zeros(logits.graph(), logits.dtype(), {logits.dim(0)}),
                           examples_of(rows), label_logits_of(logits, rows));
  }
  const Var classes = as_type(dim_value(logits.graph(), logits.dim(1)), logits.dtype());
  return (sum(softplus(logits), {1}) - true_sum) / classes;
}

Var is_correct(Var logits, Var labels, std::int64_t k, Place place) {
  const UserCall call(logits, place);
  require_float("is_correct", "logits", logits);
  require_integers("is_correct", "labels", labels);
  require_positive("is_correct", "k", k);
  require<ShapeError>(logits.rank() >= 1 && without_last(logits.shape()) == labels.shape(),
                      "is_correct: logits {} and labels {} do not fit", to_string(logits.shape()),
                      to_string(labels.shape()));
  const Var label = as_type(labels, DType::i64);
  if (k == 1) {
    return equal(argmax(logits, -1), label);
  }
  const Var hits = equal(top_k(logits, k).indices, expand_dims(label, -1));
  return greater(sum(as_type(hits, DType::i64), {-1}), 0);
}

Var correct(Var logits, Var labels, std::int64_t k, Place place) {
  const UserCall call(logits, place);
  return sum(as_type(is_correct(logits, labels, k), DType::i64));
}

Var zero_one(Var logits, Var labels, Place place) {
  const UserCall call(logits, place);
  return as_type(logical_not(is_correct(logits, labels)), wide_type(logits.dtype()));
}

}  // namespace antichain::nn
