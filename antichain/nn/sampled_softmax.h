// Sampled softmax: the loss of an output layer over very many classes from the true labels and some
// others that are drawn anew in every step, shared by the batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antichain/nn/initialisers.h"
#include "antichain/nn/losses.h"

namespace antichain::nn {

/// Labels that stand for all that are not true.
struct Negatives {
  Var labels;        // i64[count]; a label may be there several times
  Var log_expected;  // [count]: the logarithm of how often each is drawn on average
};
/// Draws `count` of `classes` labels, each with the same probability.
Negatives draw_uniformly(Graph& graph, std::int64_t classes, std::int64_t count);
/// Draws `count` labels with probabilities in proportion to `weights`, one for each class and all
/// above 0, in constant time per draw (alias method: Walker, 1977; tables by Vose, 1991).
Negatives draw_by_weight(Graph& graph, const std::vector<double>& weights, std::int64_t count);

struct SampledSoftmaxOptions {
  std::string name = "sampled_softmax";
  Initialiser weight = normal(0, 0.01);  // of [classes, features]
};
/// Returns an estimate of multi_label_softmax(x Wᵀ + b, truth) for x[examples, features]:
/// log(sum over the true labels of exp(logit) + sum over the negatives that are not true labels of
/// the example of exp(logit) / expected count) less the mean of the true labels' logits, 0 for an
/// example without any. The first sum is exact, the second right on average (Bengio and Senécal,
/// 2008; the correction by log q of Jean et al., 2015). Only rows of W and b that occur are read,
/// so both can have lazy rows. Parameters: "<name>.weight" [classes, features], "<name>.bias".
Var sampled_softmax(Var x, std::int64_t classes, const LabelSets& truth, const Negatives& negatives,
                    const SampledSoftmaxOptions& options = {}, Place place = Place::current());

}  // namespace antichain::nn
