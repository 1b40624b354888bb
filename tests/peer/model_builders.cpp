// Recurrent networks, attention and control flow.
#include <cmath>
#include <limits>

#include "antichain/ops/elementwise.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/normalization.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/shape_ops.h"
#include "antichain/ops/slicing.h"
#include "tests/peer/builders.h"
#include "tests/peer/recurrent_cells.h"

namespace antichain::peer {

namespace {

using Parameters = std::span<const Var>;

Parameters behind(const Vars& in, std::size_t inputs) { return Parameters(in).subspan(inputs); }

Vars build_gru(const Case& c, const Vars& in) {
  const Chain result = gru(in.at(0), in.at(1), behind(in, 2), {.reverse = c.flag("reverse")});
  return {result.all, result.last};
}

Vars build_lstm(const Case& c, const Vars& in) {
  const auto layers = c.get<std::size_t>("layers");
  Var xs = in.at(0);
  Vars last_h, last_c;
  for (std::size_t i = 0; i < layers; ++i) {
    const Dim layer = static_cast<std::int64_t>(i);
    const Vars result = lstm(xs, index(in.at(1), 0, layer), index(in.at(2), 0, layer),
                             behind(in, 3).subspan(4 * i, 4));
    xs = result[0];
    last_h.push_back(result[1]);
    last_c.push_back(result[2]);
  }
  return {xs, stack(last_h, 0), stack(last_c, 0)};
}

Var linear(Var x, Var weight, Var bias) { return matmul(x, weight, {.transpose_b = true}) + bias; }

// torch.nn.MultiheadAttention with a causal mask: in_proj weight and bias, out_proj weight and
// bias.
Var self_attention(Var x, Parameters p, std::int64_t heads) {
  const Dim batch = x.dim(0), steps = x.dim(1), width = x.dim(2);
  const Dim head_width = width / Dim(heads);
  const auto by_head = [&](Var value) {
    return transpose(reshape(value, {batch, steps, heads, head_width}), {0, 2, 1, 3});
  };
  const Vars projected = split(linear(x, p[0], p[1]), {width, width, width}, -1);
  const Var q = by_head(projected[0]), k = by_head(projected[1]), v = by_head(projected[2]);
  const Var scale = sqrt(cast(dim_value(x.graph(), head_width), x.dtype()));
  const Var scores = matmul(q, k, {.transpose_b = true}) / scale;
  const Var position = iota(x.graph(), i64, steps);
  const Var seen = less_equal(position, expand_dims(position, 1));
  const Var attention = softmax(select(seen, scores, -std::numeric_limits<double>::infinity()), -1);
  const Var joined = reshape(transpose(matmul(attention, v), {0, 2, 1, 3}), {batch, steps, width});
  return linear(joined, p[2], p[3]);
}

// torch.nn.TransformerEncoderLayer: attention (4), two linear layers (4), two norms (4).
Var encoder_layer(Var x, Parameters p, std::int64_t heads, bool norm_first) {
  const auto attend = [&](Var value) { return self_attention(value, p.first(4), heads); };
  const auto feed = [&](Var value) { return linear(gelu(linear(value, p[4], p[5])), p[6], p[7]); };
  const auto norm = [&](Var value, std::size_t first) {
    return layer_norm(value, p[first], p[first + 1]);
  };
  if (norm_first) {
    const Var attended = x + attend(norm(x, 8));
    return attended + feed(norm(attended, 10));
  }
  const Var attended = norm(x + attend(x), 8);
  return norm(attended + feed(attended), 10);
}

Vars build_transformer(const Case& c, const Vars& in) {
  constexpr std::size_t kPerLayer = 12;
  Var x = in.at(0);
  for (std::size_t i = 0; i < c.get<std::size_t>("layers"); ++i) {
    x = encoder_layer(x, behind(in, 1).subspan(kPerLayer * i, kPerLayer),
                      c.get<std::int64_t>("heads"), c.flag("norm_first"));
  }
  return {x};
}

Vars build_loop(const Case& c, const Vars& in) {
  const auto limit = c.get<double>("limit");
  return loop(
             {in.at(0)}, [&](const Vars& s) { return less(sum(square(s[0])), limit); },
             [&](const Vars& s) -> Vars { return {in.at(1) * s[0] + sin(s[0])}; })
      .last;
}

Vars build_cond(const Case&, const Vars& in) {
  return cond(
      greater(sum(in.at(0)), 0), [&]() -> Vars { return {in.at(1) * square(in[0])}; },
      [&]() -> Vars { return {exp(in[0])}; });
}

Vars build_chain_without_data(const Case& c, const Vars& in) {
  const auto step = [&](Var, const Vars& states, const Vars&) -> StepResult {
    return {{tanh(matmul(states[0], in.at(1)))}};
  };
  const ChainResult result = chain({in.at(0)}, {}, step, {.length = c.get<std::int64_t>("length")});
  return {result.last[0], result.before[0]};
}

}  // namespace

Builders model_builders() {
  return {
      {"gru", build_gru},
      {"lstm", build_lstm},
      {"attention",
       [](const Case& c, const Vars& in) -> Vars {
         return {self_attention(in.at(0), behind(in, 1), c.get<std::int64_t>("heads"))};
       }},
      {"transformer", build_transformer},
      {"loop", build_loop},
      {"cond", build_cond},
      {"chain_without_data", build_chain_without_data},
  };
}

}  // namespace antichain::peer
