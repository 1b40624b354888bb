// unique_indices: which slices a list of indices names, and where each index finds its own.
#include <map>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/require_size.h"

namespace antichain {

namespace {

std::vector<VarType> infer_unique_indices(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, {DType::i64});
  context.require_rank(0, 1);
  const Dim size = context.attrs().get<Dim>("size"), count = context.shape(0)[0];
  require_size(context, size, "the size of the axis");
  return {{DType::i64, {min(count, size)}}, {DType::i64, {count}}};
}

void unique_indices_reference(KernelContext& context) {
  const std::vector<std::int64_t> indices = checked_indices(context, 0, context.size("size"));
  std::map<std::int64_t, std::int64_t> slots;
  for (const std::int64_t index : indices) {
    slots.emplace(index, 0);
  }
  std::vector<std::int64_t> unique(static_cast<std::size_t>(context.out(0).numel()), kNoIndex);
  std::int64_t next = 0;
  for (auto& [index, slot] : slots) {
    unique[static_cast<std::size_t>(next)] = index;
    slot = next++;
  }
  std::vector<std::int64_t> slot_of(indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    slot_of[k] = slots.at(indices[k]);
  }
  store(unique, context.out(0));
  store(slot_of, context.out(1));
}

std::vector<Sample> unique_indices_samples() {
  const auto with = [](Dim size) {
    return [=](Graph&, std::span<const Var> in) {
      const UniqueIndices found = unique_indices(in[0], size);
      return std::vector<Var>{found.indices, found.slots};
    };
  };
  std::vector<std::int64_t> many(3001);
  for (std::size_t k = 0; k < many.size(); ++k) {
    many[k] = static_cast<std::int64_t>(k * k * 7919 % 1999993);
  }
  return {
      {"some twice", {indices_of({7}, {6, 0, 6, 2, 9, 2, 6})}, with(10)},
      {"more than there are", {indices_of({5}, {1, 0, 1, 1, 0})}, with(2)},
      {"many", {indices_of({3001}, many)}, with(2000000)},
      {"one", {indices_of({1}, {3})}, with(4)},
      {"none", {indices_of({0}, {})}, with(4)},
  };
}

}  // namespace

const OpDef& unique_indices_def() {
  static const OpDef def{
      .name = "unique_indices",
      .doc = "The indices of a list in rising order, each once and then -1, and the place of each.",
      .attributes = {{"size", "of the axis that they index"}},
      .dtypes = {DType::i64},
      .infer = infer_unique_indices,
      .no_gradient = "the indices are integers",
      .vmap_serially = "each copy has an order of its own",
      .reference = unique_indices_reference,
      .samples = unique_indices_samples,
  };
  return def;
}

UniqueIndices unique_indices(const Operand& indices, Dim size) {
  const std::vector<Var> outputs = apply_all(unique_indices_def(), {indices}, {{"size", size}});
  return {outputs[0], outputs[1]};
}

}  // namespace antichain
