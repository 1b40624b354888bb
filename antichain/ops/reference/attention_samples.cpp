#include "antichain/ops/reference/attention_samples.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/attention.h"

namespace antichain {

namespace {

using Inputs = std::span<const Var>;

// Sizes of one use.
struct Sizes {
  std::int64_t batch, queries, keys, heads, width, value_width;
};

std::vector<SampleInput> operands(const Sizes& sizes) {
  return {{{sizes.batch, sizes.queries, sizes.heads, sizes.width}},
          {{sizes.batch, sizes.keys, sizes.heads, sizes.width}},
          {{sizes.batch, sizes.keys, sizes.heads, sizes.value_width}}};
}

SampleInput flags(const Sizes& sizes, std::vector<std::int64_t> values) {
  return {{sizes.batch, sizes.keys}, 0, 2, boolean, std::move(values)};
}

ScoreOptions sample_options(Inputs in, std::size_t mask, bool causal) {
  return {.scale = 0.5, .causal = causal, .mask = in.size() > mask ? in[mask] : Var()};
}

// A query that sees nothing has an lse beside which differences of others are lost.
auto forward(bool causal, bool with_lse) {
  return [causal, with_lse](Graph&, Inputs in) {
    const Attended result = attention(in[0], in[1], in[2], sample_options(in, 3, causal));
    // What is computed from 16-bit scores is as exact as these.
    return with_lse ? std::vector<Var>{result.output, cast(result.lse, in[0].dtype())}
                    : std::vector<Var>{result.output};
  };
}

auto backward(bool causal) {
  return [causal](Graph&, Inputs in) {
    const ScoreOptions options = sample_options(in, 4, causal);
    const Attended attended = attention(in[1], in[2], in[3], options);
    const AttentionGradient grads =
        attention_gradient(in[0], in[1], in[2], in[3], attended, options);
    return std::vector<Var>{grads.q, grads.k, grads.v};
  };
}

struct Use {
  std::string label;
  Sizes sizes;
  bool causal = false;
  std::vector<std::int64_t> mask = {};
};

std::vector<Use> uses() {
  return {{"self", {2, 3, 3, 2, 4, 4}},
          {"other keys", {1, 2, 5, 3, 3, 3}},
          {"wider values", {1, 3, 2, 1, 2, 5}},
          {"causal", {1, 4, 4, 2, 3, 3}, true},
          {"causal, more queries", {1, 4, 2, 1, 3, 3}, true},
          {"masked", {2, 2, 3, 1, 3, 3}, false, {1, 0, 1, 0, 1, 1}},
          {"causal and masked", {1, 3, 3, 2, 2, 2}, true, {1, 0, 1}},
          {"tiles", {1, 19, 21, 2, 16, 16}},
          {"no key is seen", {2, 3, 3, 1, 2, 2}, false, {0, 0, 0, 1, 1, 0}},
          {"the first keys are not seen", {1, 4, 4, 1, 2, 2}, true, {0, 0, 1, 1}},
          {"one key", {1, 1, 1, 1, 1, 1}},
          {"empty", {0, 3, 2, 2, 4, 4}}};
}

bool has_blind_queries(const Use& use) {
  return use.label == "no key is seen" || use.label == "the first keys are not seen";
}

}  // namespace

std::vector<Sample> attention_samples() {
  std::vector<Sample> samples;
  for (const Use& use : uses()) {
    Sample sample{use.label, operands(use.sizes), forward(use.causal, !has_blind_queries(use))};
    if (!use.mask.empty()) {
      sample.inputs.push_back(flags(use.sizes, use.mask));
    }
    samples.push_back(sample);
  }
  samples.push_back({"output only", operands({1, 3, 4, 2, 4, 4}), forward(true, false)});
  return samples;
}

std::vector<Sample> attention_gradient_samples() {
  std::vector<Sample> samples;
  for (const Use& use : uses()) {
    const Sizes& sizes = use.sizes;
    std::vector<SampleInput> inputs = {
        {{sizes.batch, sizes.queries, sizes.heads, sizes.value_width}}};
    for (SampleInput& input : operands(sizes)) {
      inputs.push_back(std::move(input));
    }
    if (!use.mask.empty()) {
      inputs.push_back(flags(sizes, use.mask));
    }
    samples.push_back({use.label, std::move(inputs), backward(use.causal)});
  }
  return samples;
}

}  // namespace antichain
