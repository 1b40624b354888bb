// embedding and embedding_bag: compositions of gather and scatter_add.
#include <algorithm>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/indexing_vmap.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

constexpr std::string_view kSum = "sum", kMean = "mean";  // of the attribute "mode"

std::vector<VarType> infer_embedding(InferContext& context) {
  context.require_inputs(2);
  context.require_dtype(1, {DType::i32, DType::i64});
  context.require_rank(0, 2);
  Dims shape = context.shape(1);
  shape.push_back(context.shape(0)[1]);
  return {{context.dtype(0), shape}};
}

std::vector<Var> decompose_embedding(Op op) { return {gather(op.input(0), op.input(1), 0)}; }

void embedding_reference(KernelContext& context) {
  const Attrs axis{{"axis", std::int64_t{0}}};
  KernelContext lookup = context;
  lookup.attrs = &axis;
  gather_def().reference(lookup);
}

std::vector<VarType> infer_embedding_bag(InferContext& context) {
  context.require_inputs(3);
  context.require_dtype(0, kFloats);
  context.require_rank(0, 2);
  for (int input : {1, 2}) {
    context.require_dtype(input, {DType::i32, DType::i64});
    context.require_rank(input, 1);
  }
  context.unify(context.shape(1)[0], context.shape(2)[0], "the numbers of ids and bags");
  const std::string& mode = context.attrs().get<std::string>("mode");
  require(mode == kSum || mode == kMean, "{}: mode must be '{}' or '{}', got '{}'",
          context.op_name(), kSum, kMean, mode);
  const Dim num_bags = context.attrs().get<Dim>("num_bags");
  require_size(context, num_bags, "the number of bags");
  return {{context.dtype(0), {num_bags, context.shape(0)[1]}}};
}

std::vector<Var> decompose_embedding_bag(Op op) {
  Graph& graph = op.graph();
  const Var table = op.input(0), ids = op.input(1), bags = op.input(2);
  const Dim num_bags = op.attrs().get<Dim>("num_bags");
  const Var sums =
      scatter_add(zeros(graph, table.dtype(), {num_bags, table.dim(1)}), bags, gather(table, ids));
  if (op.attrs().get<std::string>("mode") == kSum) {
    return {sums};
  }
  // Counted as integers: a bfloat16 stops counting at 256.
  const Var counts = scatter_add(zeros(graph, DType::i64, {num_bags}), bags,
                                 ones(graph, DType::i64, bags.shape()));
  return {sums / expand_dims(cast(maximum(counts, 1), table.dtype()), 1)};
}

void embedding_bag_reference(KernelContext& context) {
  const Tensor &table = context.in(0), &out = context.out();
  const std::int64_t width = table.shape()[1], num_bags = out.shape()[0];
  const std::vector<std::int64_t> ids = checked_indices(context, 1, table.shape()[0]);
  const std::vector<std::int64_t> bags = checked_indices(context, 2, num_bags);
  const std::vector<double> rows = load<double>(table);
  std::vector<double> sums(static_cast<std::size_t>(out.numel())),
      counts(static_cast<std::size_t>(num_bags));
  for (std::size_t k = 0; k < ids.size(); ++k) {
    counts[static_cast<std::size_t>(bags[k])] += 1;
    for (std::int64_t i = 0; i < width; ++i) {
      sums[static_cast<std::size_t>(bags[k] * width + i)] +=
          rows[static_cast<std::size_t>(ids[k] * width + i)];
    }
  }
  if (context.attr<std::string>("mode") == kMean) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] /= std::max(counts[i / static_cast<std::size_t>(width)], 1.0);
    }
  }
  store(sums, out);
}

std::vector<Sample> embedding_samples() {
  const auto build = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{embedding(in[0], in[1])};
  };
  return {
      {"vector of ids", {SampleInput{{7, 3}}, indices_of({4}, {6, 0, 6, 2})}, build},
      {"matrix of i32 ids",
       {SampleInput{{3, 2}}, indices_of({2, 2}, {0, 1, 2, 1}, DType::i32)},
       build},
      {"one id", {SampleInput{{1, 1}}, indices_of({}, {0})}, build},
      {"no ids", {SampleInput{{3, 2}}, indices_of({0}, {})}, build},
  };
}

std::vector<Sample> embedding_bag_samples() {
  const auto with = [](Dim num_bags, BagMode mode) {
    return [=](Graph&, std::span<const Var> in) {
      return std::vector<Var>{embedding_bag(in[0], in[1], in[2], num_bags, mode)};
    };
  };
  const SampleInput ids = indices_of({5}, {4, 0, 4, 2, 1}), bags = indices_of({5}, {0, 2, 0, 2, 2});
  const SampleInput none = indices_of({0}, {});
  return {
      {"sum, one bag empty", {SampleInput{{5, 3}}, ids, bags}, with(3, BagMode::sum)},
      {"mean, one bag empty", {SampleInput{{5, 3}}, ids, bags}, with(3, BagMode::mean)},
      {"i32 bags",
       {SampleInput{{2, 1}}, indices_of({1}, {1}), indices_of({1}, {0}, DType::i32)},
       with(1, BagMode::mean)},
      {"no ids", {SampleInput{{3, 2}}, none, none}, with(2, BagMode::mean)},
      {"no bags", {SampleInput{{3, 2}}, none, none}, with(0, BagMode::sum)},
  };
}

}  // namespace

const OpDef& embedding_def() {
  static const OpDef def{
      .name = "embedding",
      .doc = "Looks rows of a table up.",
      .dtypes = kAnyDType,
      .infer = infer_embedding,
      .vmap = vmap_embedding,
      .decompose = decompose_embedding,
      .reference = embedding_reference,
      .samples = embedding_samples,
  };
  return def;
}

const OpDef& embedding_bag_def() {
  static const OpDef def{
      .name = "embedding_bag",
      .doc = "Looks rows of a table up and adds or averages those of one bag.",
      .attributes = {{"num_bags", "number of rows of the result"},
                     {"mode", "'sum' or 'mean'", {std::string(kSum)}}},
      .infer = infer_embedding_bag,
      .decompose = decompose_embedding_bag,
      .reference = embedding_bag_reference,
      .samples = embedding_bag_samples,
  };
  return def;
}

Var embedding(const Operand& table, const Operand& ids) {
  return apply(embedding_def(), {table, ids});
}

Var embedding_bag(const Operand& table, const Operand& ids, const Operand& bags, Dim num_bags,
                  BagMode mode) {
  return apply(
      embedding_bag_def(), {table, ids, bags},
      {{"num_bags", num_bags}, {"mode", std::string(mode == BagMode::sum ? kSum : kMean)}});
}

}  // namespace antichain
