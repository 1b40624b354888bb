#include "antichain/ops/wide/label_losses.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/segments.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

Var examples_of(const LabelRows& truth) {
  const Var first = slice(cast(truth.row_starts, DType::i64), {{.axis = 0, .stop = -1}});
  return row_of_each(first, truth.labels.dim(0));
}

Var label_logits_of(Var logits, const LabelRows& truth) {
  Graph& graph = logits.graph();
  const Var classes = dim_value(graph, logits.dim(1)), labels = cast(truth.labels, DType::i64);
  const Var all = reshape(logits, {numel(logits.shape())});
  const Var is_class = logical_and(greater_equal(labels, 0), less(labels, classes));
  return gather(
      all, select(is_class, examples_of(truth) * classes + labels, dim_value(graph, all.dim(0))));
}

Var label_losses(Var log_sums, Var label_logits, const LabelRows& truth) {
  Graph& graph = log_sums.graph();
  const Var starts = cast(truth.row_starts, DType::i64);
  const Var counts =
      cast(slice(starts, {{.axis = 0, .start = 1}}) - slice(starts, {{.axis = 0, .stop = -1}}),
           log_sums.dtype());
  const Var sums = scatter_add(zeros(graph, log_sums.dtype(), {log_sums.dim(0)}),
                               examples_of(truth), label_logits);
  return select(greater(counts, 0), log_sums - sums / maximum(counts, 1), 0);
}

}  // namespace antichain
