// Attention: softmax(scale q kᵀ) v per head, as one op, and its gradient as another.
//
// Values have the layout in which linear layers make them, [batch, time, heads, width], so that
// nothing is transposed on the way. Devices without a kernel take both apart into products and a
// softmax; since equal ops are shared, the gradient then reads the weights of the forward pass.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

struct ScoreOptions {
  double scale = 1;     // of the products of queries and keys
  bool causal = false;  // whether query i sees keys 0 to i only
  Var mask = {};        // bool [batch, keys]: false where a key is seen by nobody
};

struct Attended {
  Var output;  // [batch, queries, heads, width of v]
  Var lse;     // log of the sum of exp(scores), [batch, heads, queries]: f64 of f64, f32 of others
};
/// Returns per head the mean of v[batch, keys, heads, any width] with weights softmax(scale q kᵀ),
/// q being [batch, queries, heads, width] and k [batch, keys, heads, width]. A query that sees no
/// key weighs all of them equally; its lse is kUnseenScore.
Attended attention(const Operand& q, const Operand& k, const Operand& v,
                   const ScoreOptions& options = {});

struct AttentionGradient {
  Var q, k, v;
};
/// Returns the gradients of the output, `attended` being what attention returned for these q, k, v
/// and options.
AttentionGradient attention_gradient(const Operand& grad, Var q, Var k, Var v,
                                     const Attended& attended, const ScoreOptions& options = {});

/// The score of a key that is not seen: far below every other, and still a number, so that a row
/// of nothing else does not become NaN.
inline constexpr double kUnseenScore = -1e30;

const OpDef& attention_def();
const OpDef& attention_gradient_def();

std::vector<const OpDef*> attention_family();

}  // namespace antichain
