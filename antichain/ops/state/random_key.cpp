// Keys: that of the run, and keys derived from others.
#include "antichain/ops/state/random_key.h"

#include "antichain/base/random_functions.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain {

namespace {

std::vector<VarType> infer_fold_in(InferContext& context) {
  context.require_inputs(2);
  require_random_key(context);
  context.require_dtype(1, {DType::i64});
  context.require_rank(1, 0);
  return {{DType::i64, {2}}};
}

void fold_in_reference(KernelContext& context) {
  const std::int64_t* key = context.in(0).data<std::int64_t>();
  const RandomStream folded = folded_in({key[0], key[1]}, context.in(1).item<std::int64_t>());
  std::int64_t* out = context.out().data<std::int64_t>();
  out[0] = folded.seed;
  out[1] = folded.run;
}

std::vector<Sample> fold_in_samples() {
  const auto build = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{fold_in(in[0], in[1]), fold_in(in[0], 3)};
  };
  const auto number = [](std::int64_t value) {
    return SampleInput{.shape = {}, .dtype = DType::i64, .values = {value}};
  };
  const auto key = [](std::int64_t seed, std::int64_t run) {
    return SampleInput{.shape = {2}, .dtype = DType::i64, .values = {seed, run}};
  };
  return {
      {"step", {key(7, 1), number(5)}, build},
      {"64-bit numbers", {key(-3, std::int64_t{1} << 40), number(std::int64_t{1} << 50)}, build}};
}

}  // namespace

void require_random_key(InferContext& context) {
  context.require_dtype(0, {DType::i64});
  context.require_rank(0, 1);
  context.unify(context.shape(0)[0], 2, "the key and its two numbers");
}

const OpDef& fold_in_def() {
  static const OpDef def{
      .name = "fold_in",
      .doc = "Derives another key from a key and a number.",
      .dtypes = {DType::i64},
      .infer = infer_fold_in,
      .no_gradient = "keys are integers",
      .vmap_serially = "it makes one key at a time",
      .reference = fold_in_reference,
      .samples = fold_in_samples,
  };
  return def;
}

Var random_key(Graph& graph) {
  Var key;
  {
    const RegionSwitch root(graph);
    if (!graph.find_state(kRandomState)) {
      const Var initial = constant(graph, Tensor::of<std::int64_t>({2}, {0, 0}));
      graph.add_state(
          {.name = std::string(kRandomState), .type = {DType::i64, {2}}, .initial = initial});
    }
    key = read_state(graph, kRandomState);
  }
  for (Var step : graph.open_steps()) {
    key = fold_in(key, step);
  }
  return key;
}

Var fold_in(const Operand& key, const Operand& number) {
  return apply(fold_in_def(), {key, number});
}

}  // namespace antichain
