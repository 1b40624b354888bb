// Attention and the transformer.
#pragma once

#include <string>

#include "antichain/nn/initialisers.h"

namespace antichain::nn {

struct AttentionOptions {
  std::string name = "attention";
  std::int64_t heads = 1;  // divides the width
  Var memory = {};         // [batch, keys, features] to look at; none: x itself
  Var mask = {};           // bool [batch, keys]: false where a key is padding
  bool causal = false;     // whether a position sees itself and earlier ones only
  double dropout = 0;      // of the attention weights
  bool training = false;
  Initialiser weight = glorot_uniform;
};
/// Returns multi-head attention (Vaswani et al., 2017, section 3.2) of x[batch, time, width]: per
/// head softmax(q kᵀ / sqrt(width / heads)) v. Creates the linear layers "<name>.query",
/// "<name>.key", "<name>.value" and "<name>.out", all to the width of x. A position that sees no
/// key gets the mean of all values.
Var multi_head_attention(Var x, const AttentionOptions& options = {},
                         Place place = Place::current());

struct TransformerOptions {
  std::string name = "block";
  std::int64_t heads = 1;
  std::int64_t mlp_width = 0;  // 0: four times the width
  Var mask = {};               // bool [batch, time]: false where a position is padding
  bool causal = false;
  double dropout = 0;  // of the attention weights and of what each half adds
  bool training = false;
  Initialiser weight = glorot_uniform;
};
/// Applies one transformer layer, norms first (Xiong et al., 2020, figure 1b), to x[batch, time,
/// width]:
///   y = x + dropout(attention(norm_1(x))),  y + dropout(mlp(norm_2(y))),
/// the mlp with one hidden layer and gelu. Creates "<name>.norm_1", "<name>.attention",
/// "<name>.norm_2" and "<name>.mlp".
Var transformer_block(Var x, const TransformerOptions& options = {},
                      Place place = Place::current());

}  // namespace antichain::nn
