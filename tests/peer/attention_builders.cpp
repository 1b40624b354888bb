// Attention and transformers, from the parameters of PyTorch's modules.
#include "antichain/nn/attention.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "tests/peer/builders.h"
#include "tests/peer/parameters.h"

namespace antichain::peer {

namespace {

using Parameters = std::span<const Var>;

void append(Vars& all, const Vars& more) { all.insert(all.end(), more.begin(), more.end()); }

// Ours of one linear layer: PyTorch's weight is [out, in].
Vars linear(Var weight, Var bias) { return {transpose(weight), bias}; }

// Ours from torch.nn.MultiheadAttention's: the weights of query, key and value, one bias of all
// three, weight and bias of the output.
Vars attention_parameters(const Vars& weights, Parameters behind) {
  const Dim width = behind[1].dim(0);
  const Vars biases = split(behind[0], {width, width, width}, 0);
  Vars result;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    append(result, linear(weights[i], biases[i]));
  }
  append(result, linear(behind[1], behind[2]));
  return result;
}

Vars packed_attention_parameters(Parameters p) {
  const Dim width = p[0].dim(1);
  return attention_parameters(split(p[0], {width, width, width}, 0), p.subspan(1));
}

Vars build_attention(const Case& c, const Vars& in) {
  const auto heads = c.get<std::int64_t>("heads");
  if (!c.flag("cross")) {
    return with_parameters({nn::multi_head_attention(in.at(0), {.heads = heads, .causal = true})},
                           packed_attention_parameters(Parameters(in).subspan(1)));
  }
  const Var y =
      nn::multi_head_attention(in.at(0), {.heads = heads, .memory = in.at(1), .mask = in.at(2)});
  return with_parameters(
      {y}, attention_parameters({in.at(3), in.at(4), in.at(5)}, Parameters(in).subspan(6)));
}

// torch.nn.TransformerEncoderLayer: attention (4), two linear layers (4), two norms (4).
Vars build_transformer(const Case& c, const Vars& in) {
  constexpr std::size_t kPerLayer = 12;
  Var x = in.at(0);
  Vars values;
  for (std::size_t i = 0; i < c.get<std::size_t>("layers"); ++i) {
    const Parameters p = Parameters(in).subspan(1 + kPerLayer * i, kPerLayer);
    x = nn::transformer_block(x, {.name = "block" + std::to_string(i),
                                  .heads = c.get<std::int64_t>("heads"),
                                  .mlp_width = p[4].dim(0).constant(),
                                  .causal = true});
    append(values, {p[8], p[9]});
    append(values, packed_attention_parameters(p.first(4)));
    append(values, {p[10], p[11]});
    append(values, linear(p[4], p[5]));
    append(values, linear(p[6], p[7]));
  }
  return with_parameters({x}, values);
}

}  // namespace

Builders attention_builders() {
  return {{"attention", build_attention}, {"transformer", build_transformer}};
}

}  // namespace antichain::peer
