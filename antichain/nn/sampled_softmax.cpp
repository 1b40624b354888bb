#include "antichain/nn/sampled_softmax.h"

#include <cmath>
#include <numeric>

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/wide/label_losses.h"

namespace antichain::nn {

namespace {

constexpr double kNever = -1e30;  // the logit of what does not count; finite, so that slopes are

// Whole numbers below `end`. Below 1 in f64, times any size, stays below it.
Var draw_below(Graph& graph, std::int64_t end, std::int64_t count) {
  return cast(floor(random_uniform(graph, f64, {count}) * static_cast<double>(end)), i64);
}

// A draw i of all classes with the same probability stands for itself with probability own[i],
// otherwise for other[i].
struct AliasTables {
  std::vector<double> own;
  std::vector<std::int64_t> other;
};

AliasTables make_alias_tables(const std::vector<double>& weights, double total) {
  const auto count = static_cast<double>(weights.size());
  AliasTables tables{.own = weights, .other = std::vector<std::int64_t>(weights.size())};
  std::vector<std::size_t> small, large;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    tables.own[i] *= count / total;
    (tables.own[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::size_t poor = small.back(), rich = large.back();
    small.pop_back();
    tables.other[poor] = static_cast<std::int64_t>(rich);
    tables.own[rich] -= 1 - tables.own[poor];
    if (tables.own[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
  for (const std::vector<std::size_t>& rest : {small, large}) {  // 1 up to rounding
    for (const std::size_t i : rest) {
      tables.own[i] = 1;
    }
  }
  return tables;
}

// The largest of the values (one per label) of each example, `none` where there are none; not
// differentiated.
Var largest_by_example(Var values, Var examples, const LabelRows& truth, double none) {
  const Sorted by_value = sort(stop_gradient(values), 0, true);
  const Sorted by_example = sort(gather(examples, by_value.indices));
  // One more at the end: an example without labels may start there.
  const Var ordered = concat({gather(by_value.values, by_example.indices),
                              full(values.graph(), values.dtype(), {1}, none)},
                             0);
  const Var starts = slice(truth.row_starts, {{.axis = 0, .stop = -1}});
  const Var ends = slice(truth.row_starts, {{.axis = 0, .start = 1}});
  return select(greater(ends, starts), gather(ordered, starts), none);
}

// The rows of W and b of some labels.
struct Rows {
  Var weight, bias;
};

Rows look_up(const Layer& layer, Var weight, Var bias, Var labels) {
  return {layer.used(antichain::embedding(weight, labels)), layer.used(gather(bias, labels))};
}

}  // namespace

Negatives draw_uniformly(Graph& graph, std::int64_t classes, std::int64_t count) {
  require_positive("draw_uniformly", "classes", classes);
  require_positive("draw_uniformly", "count", count);
  const double expected = static_cast<double>(count) / static_cast<double>(classes);
  return {draw_below(graph, classes, count), full(graph, f32, {count}, std::log(expected))};
}

Negatives draw_by_weight(Graph& graph, const std::vector<double>& weights, std::int64_t count) {
  const auto classes = static_cast<std::int64_t>(weights.size());
  require_positive("draw_by_weight", "number of weights", classes);
  require_positive("draw_by_weight", "count", count);
  for (const double weight : weights) {
    require(std::isfinite(weight) && weight > 0,
            "draw_by_weight: a label that is never drawn cannot be corrected for, and its weight "
            "is {}",
            weight);
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const AliasTables tables = make_alias_tables(weights, total);
  std::vector<float> log_expected;
  for (const double weight : weights) {
    log_expected.push_back(
        static_cast<float>(std::log(static_cast<double>(count) * weight / total)));
  }
  const Var first = draw_below(graph, classes, count);
  const Var own = gather(constant(graph, Tensor::of<double>({classes}, tables.own)), first);
  const Var other =
      gather(constant(graph, Tensor::of<std::int64_t>({classes}, tables.other)), first);
  const Var labels = select(less(random_uniform(graph, f64, {count}), own), first, other);
  return {labels, gather(constant(graph, Tensor::of<float>({classes}, log_expected)), labels)};
}

Var sampled_softmax(Var x, std::int64_t classes, const LabelSets& truth, const Negatives& negatives,
                    const SampledSoftmaxOptions& options, Place place) {
  const UserCall call(x, place);
  const Layer layer("sampled_softmax", x, options.name);
  const Dim features = require_features("sampled_softmax", x);
  require<ShapeError>(x.rank() == 2, "sampled_softmax: x must be [examples, features], got {}",
                      to_string(x.shape()));
  require_positive("sampled_softmax", "classes", classes);
  require(!truth.multi_hot.valid(), "sampled_softmax: give labels with row_starts, not multi_hot");
  require_label_rows("sampled_softmax", truth);
  require_integers("sampled_softmax", "negatives", negatives.labels);
  const Var weight = layer.parameter("weight", {classes, features}, options.weight);
  const Var bias = layer.parameter("bias", {classes}, constant(0));
  const Var drawn = as_type(negatives.labels, i64);
  const LabelRows own{as_type(truth.labels, i64), as_type(truth.row_starts, i64)};
  const Var examples = examples_of(own);

  const Rows own_rows = look_up(layer, weight, bias, own.labels);
  const Var own_logits =
      sum(widened(gather(x, examples) * own_rows.weight), {1}) + widened(own_rows.bias);
  const Rows drawn_rows = look_up(layer, weight, bias, drawn);
  const Var drawn_logits = widened(matmul(x, transpose(drawn_rows.weight)) + drawn_rows.bias);

  const DType wide = drawn_logits.dtype();
  const auto add_to_examples = [&](Var values) {
    Dims shape = values.shape();
    shape[0] = x.dim(0);
    return scatter_add(zeros(x.graph(), wide, shape), examples, values);
  };
  const Var is_own = as_type(equal(expand_dims(own.labels, 1), expand_dims(drawn, 0)), wide);
  const Var corrected = select(greater(add_to_examples(is_own), 0), kNever,
                               drawn_logits - as_type(negatives.log_expected, wide));
  const Var log_drawn = logsumexp(corrected, {1});
  const Var scale =
      maximum(stop_gradient(log_drawn), largest_by_example(own_logits, examples, own, kNever));
  const Var sums =
      exp(log_drawn - scale) + add_to_examples(exp(own_logits - gather(scale, examples)));
  return label_losses(scale + log(sums), own_logits, own);
}

}  // namespace antichain::nn
