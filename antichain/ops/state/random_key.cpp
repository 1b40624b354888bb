// Keys: that of the run, and keys derived from others.
#include "antichain/ops/state/random_key.h"

#include "antichain/base/random_functions.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/vmap_context.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain {

namespace {

std::vector<VarType> infer_fold_in(InferContext& context) {
  context.require_inputs(2);
  require_random_keys(context);
  context.require_dtype(1, {DType::i64});
  require<ShapeError>(context.shape(1).size() <= 1,
                      "{}: the numbers must be one or a list, their shape is {}", context.op_name(),
                      to_string(context.shape(1)));
  const Dims& keys = context.shape(0);
  Dims lists = context.broadcast(Dims(keys.begin(), keys.end() - 1), context.shape(1));
  lists.push_back(2);
  return {{DType::i64, lists}};
}

void fold_in_reference(KernelContext& context) {
  const std::int64_t* keys = context.in(0).data<std::int64_t>();
  const std::int64_t* numbers = context.in(1).data<std::int64_t>();
  std::int64_t* out = context.out().data<std::int64_t>();
  const std::int64_t key_step = context.in(0).numel() > 2 ? 2 : 0;
  const std::int64_t number_step = context.in(1).numel() > 1 ? 1 : 0;
  for (std::int64_t i = 0; i < context.out().numel() / 2; ++i) {
    const std::int64_t* key = keys + i * key_step;
    const RandomStream folded = folded_in({key[0], key[1]}, numbers[i * number_step]);
    out[2 * i] = folded.seed;
    out[2 * i + 1] = folded.run;
  }
}

// A key with a number makes one with each of a list, but lists of lists are not made.
std::optional<std::vector<Var>> vmap_fold_in(VmapContext& context) {
  if (context.op().output().rank() != 1) {
    return std::nullopt;
  }
  return context.same_op({context.value(0), context.value(1)}, context.attrs());
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
      {"64-bit numbers", {key(-3, std::int64_t{1} << 40), number(std::int64_t{1} << 50)}, build},
      {"several numbers",
       {key(7, 1), {.shape = {3}, .dtype = DType::i64, .values = {0, 5, 6}}},
       [](Graph&, std::span<const Var> in) {
         const Var keys = fold_in(in[0], in[1]);
         return std::vector<Var>{keys, fold_in(keys, 3), fold_in(keys, in[1])};
       }}};
}

}  // namespace

void require_random_keys(InferContext& context) {
  context.require_dtype(0, {DType::i64});
  const Dims& shape = context.shape(0);
  require<ShapeError>(shape.size() == 1 || shape.size() == 2,
                      "{}: a key has two numbers, a list of keys is [keys, 2]; the shape is {}",
                      context.op_name(), to_string(shape));
  context.unify(shape.back(), 2, "the key and its two numbers");
}

void require_random_key(InferContext& context) {
  context.require_dtype(0, {DType::i64});
  context.require_rank(0, 1);
  context.unify(context.shape(0)[0], 2, "the key and its two numbers");
}

const OpDef& fold_in_def() {
  static const OpDef def{
      .name = "fold_in",
      .doc = "Derives another key from a key and a number, or one from each of a list.",
      .dtypes = {DType::i64},
      .infer = infer_fold_in,
      .no_gradient = "keys are integers",
      .vmap = vmap_fold_in,
      .vmap_serially = "lists of keys are not nested",
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
