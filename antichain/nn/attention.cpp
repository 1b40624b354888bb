#include "antichain/nn/attention.h"

#include <cmath>

#include "antichain/nn/dropout.h"
#include "antichain/nn/layer.h"
#include "antichain/nn/linear.h"
#include "antichain/nn/normalization.h"
#include "antichain/ops/products/attention.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::nn {

namespace {

// In f16 kUnseenScore would be infinite.
double unseen(DType dtype) { return dtype == DType::f16 ? -6e4 : kUnseenScore; }

std::int64_t require_sequence(std::string_view kind, std::string_view what, Var x) {
  require<ShapeError>(x.rank() == 3 && x.dim(2).is_constant() && x.dim(2).constant() > 0,
                      "{}: {} must be [batch, time, features] with a known number of features, its "
                      "shape is {}",
                      kind, what, to_string(x.shape()));
  return x.dim(2).constant();
}

// The weights themselves are dropped, so they must be values: products and a softmax between them.
Var with_dropped_weights(Var q, Var k, Var v, const ScoreOptions& options, double rate) {
  Graph& graph = q.graph();
  const Var query = swap_axes(q, 1, 2), key = swap_axes(k, 1, 2), value = swap_axes(v, 1, 2);
  // Softmax computes 16-bit scores in f32 and rounds once.
  Var scores = matmul(query * options.scale, key, {.transpose_b = true});
  if (options.causal) {
    const Var queries = iota(graph, DType::i64, scores.dim(2));
    const Var keys = iota(graph, DType::i64, scores.dim(3));
    scores = select(less_equal(keys, expand_dims(queries, 1)), scores, unseen(scores.dtype()));
  }
  if (options.mask.valid()) {
    const Var keys = reshape(options.mask, {options.mask.dim(0), 1, 1, options.mask.dim(1)});
    scores = select(keys, scores, unseen(scores.dtype()));
  }
  const Var weights = dropout(softmax(scores), {.rate = rate, .training = true});
  return swap_axes(matmul(weights, value), 1, 2);
}

}  // namespace

Var multi_head_attention(Var x, const AttentionOptions& options, Place place) {
  const UserCall call(x, place);
  const Layer layer("multi_head_attention", x, options.name);
  const std::int64_t width = require_sequence("multi_head_attention", "x", x);
  const Var memory = options.memory.valid() ? options.memory : x;
  require_sequence("multi_head_attention", "memory", memory);
  require(options.heads > 0 && width % options.heads == 0,
          "multi_head_attention: {} heads do not divide a width of {}", options.heads, width);
  require_fraction("multi_head_attention", "dropout", options.dropout);
  require<TypeError>(
      !options.mask.valid() || (options.mask.dtype() == DType::boolean && options.mask.rank() == 2),
      "multi_head_attention: the mask must be bool [batch, keys]");
  const std::int64_t head_width = width / options.heads;
  const auto project = [&](Var from, const char* name) {
    const Var projected = linear(from, width, {.name = name, .weight = options.weight});
    return reshape(projected, {from.dim(0), from.dim(1), options.heads, head_width});
  };
  const Var query = project(x, "query"), key = project(memory, "key");
  const Var value = project(memory, "value");
  const ScoreOptions scores{.scale = 1 / std::sqrt(static_cast<double>(head_width)),
                            .causal = options.causal,
                            .mask = options.mask};
  const Var attended = options.training && options.dropout > 0
                           ? with_dropped_weights(query, key, value, scores, options.dropout)
                           : attention(query, key, value, scores).output;
  const Var joined = reshape(attended, x.shape());
  return linear(joined, width, {.name = "out", .weight = options.weight});
}

Var transformer_block(Var x, const TransformerOptions& options, Place place) {
  const UserCall call(x, place);
  const Layer layer("transformer_block", x, options.name);
  const std::int64_t width = require_sequence("transformer_block", "x", x);
  require(options.mlp_width >= 0, "transformer_block: mlp_width must not be negative, got {}",
          options.mlp_width);
  const auto drop = [&](Var value) {
    return dropout(value, {.rate = options.dropout, .training = options.training});
  };
  const Var attended =
      multi_head_attention(layer_norm(x, {.name = "norm_1"}), {.heads = options.heads,
                                                               .mask = options.mask,
                                                               .causal = options.causal,
                                                               .dropout = options.dropout,
                                                               .training = options.training,
                                                               .weight = options.weight});
  const Var y = x + drop(attended);
  constexpr std::int64_t kUsualExpansion = 4;  // Vaswani et al., 2017, section 3.3
  const std::int64_t hidden = options.mlp_width > 0 ? options.mlp_width : kUsualExpansion * width;
  return y + drop(mlp(layer_norm(y, {.name = "norm_2"}), {hidden, width},
                      {.activation = gelu, .weight = options.weight}));
}

}  // namespace antichain::nn
