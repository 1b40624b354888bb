// Softmax, cross-entropy and the norms: compositions that carry their decomposition.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

Var softmax(const Operand& x, std::int64_t axis = -1);
Var log_softmax(const Operand& x, std::int64_t axis = -1);
/// Returns the loss of each row of logits[..., classes] against integer labels[...]; numerically
/// safe.
Var cross_entropy(const Operand& logits, const Operand& labels);
/// Normalises over the last `axes` axes, then scales and shifts (scale and bias have their shape).
Var layer_norm(const Operand& x, const Operand& scale, const Operand& bias, std::int64_t axes = 1,
               double epsilon = 1e-5);
struct BatchNorm {
  Var output;
  Var mean;      // of this batch, per channel
  Var variance;  // of this batch, per channel, divided by the count
};
/// Normalises every channel (`axis`) over all other axes by the statistics of the batch.
BatchNorm batch_norm(const Operand& x, const Operand& scale, const Operand& bias,
                     double epsilon = 1e-5, std::int64_t axis = 1);
/// Normalises by given statistics: inference.
Var batch_norm_inference(const Operand& x, const Operand& scale, const Operand& bias,
                         const Operand& mean, const Operand& variance, double epsilon = 1e-5,
                         std::int64_t axis = 1);

const OpDef& batch_norm_def();
const OpDef& batch_norm_inference_def();

std::vector<const OpDef*> normalization_family();

}  // namespace antichain
