// Losses of examples with any number of true labels each, out of very many classes.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// The true labels of the examples of a batch, those of one example behind those of another.
struct LabelRows {
  Var labels;      // integers[all labels]
  Var row_starts;  // integers[examples + 1], as in CSR
};

/// Returns the example (i64) that each label belongs to.
Var examples_of(const LabelRows& truth);
/// Returns the logit of each label, of logits[examples, classes]. A label that is no class is an
/// error of the run.
Var label_logits_of(Var logits, const LabelRows& truth);
/// Returns, per example, the logarithm of the sum of exp of all logits less the mean of the logits
/// of its true labels (given one behind the other): the mean of -log softmax over them, 0 for an
/// example without any.
Var label_losses(Var log_sums, Var label_logits, const LabelRows& truth);

}  // namespace antichain
