#include "antichain/ops/indexing/sorting.h"

#include <algorithm>
#include <numeric>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/cut.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_sort(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kNumbers);
  context.axis("axis", context.rank(0));
  return {{context.dtype(0), context.shape(0)}, {DType::i64, context.shape(0)}};
}

std::vector<VarType> infer_top_k(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kNumbers);
  const int axis = context.axis("axis", context.rank(0));
  Dims shape = context.shape(0);
  Dim& size = shape[static_cast<std::size_t>(axis)];
  const Dim k = context.attrs().get<Dim>("k");
  require_size(context, k, "k");
  require<ShapeError>((size - k).range().max >= 0, "{}: k is {}, but axis {} has only {} elements",
                      context.op_name(), k.str(), axis, size.str());
  context.unify(max(size, k), size, "k and the size of the axis");
  size = k;
  return {{context.dtype(0), shape}, {DType::i64, shape}};
}

std::vector<Var> sort_vjp(VjpContext& context) {
  const Var x = context.input(0);
  return {scatter_add_along(zeros_like(x), context.output(1), context.grad(0),
                            context.attrs().get<std::int64_t>("axis"))};
}

std::vector<Var> decompose_top_k(Op op) {
  const Sorted sorted =
      sort(op.input(0), op.attrs().get<std::int64_t>("axis"), op.attrs().get<bool>("largest"));
  const Dims shape = op.output().shape(), starts(shape.size(), 0);
  return {cut(sorted.values, starts, shape), cut(sorted.indices, starts, shape)};
}

// Orders NaN behind everything else, whichever way the rest is ordered.
template <class C>
bool comes_before(C a, C b, bool descending) {
  const bool a_is_nan = a != a, b_is_nan = b != b;
  if (a_is_nan || b_is_nan) {
    return !a_is_nan && b_is_nan;
  }
  return descending ? a > b : a < b;
}

// Sorts every line along the axis and writes as many of its elements as the outputs hold.
void sort_lines(const KernelContext& context, bool descending) {
  const Tensor& input = context.in(0);
  const int axis = context.axis("axis", input.rank());
  const AxisSplit from(input.shape(), axis), to(context.out().shape(), axis);
  visit_compute(input.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> x = load<C>(input);
    std::vector<C> values(static_cast<std::size_t>(context.out().numel()));
    std::vector<std::int64_t> indices(values.size()), order(static_cast<std::size_t>(from.size));
    for (std::int64_t outer = 0; outer < from.outer; ++outer) {
      for (std::int64_t inner = 0; inner < from.inner; ++inner) {
        const auto element = [&](std::int64_t position) {
          return x[static_cast<std::size_t>((outer * from.size + position) * from.inner + inner)];
        };
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          return comes_before(element(a), element(b), descending);
        });
        for (std::int64_t i = 0; i < to.size; ++i) {
          const std::int64_t source = order[static_cast<std::size_t>(i)];
          const auto place = static_cast<std::size_t>((outer * to.size + i) * to.inner + inner);
          values[place] = element(source);
          indices[place] = source;
        }
      }
    }
    store(values, context.out(0));
    store(indices, context.out(1));
  });
}

std::vector<Sample> sort_samples() {
  const auto with = [](std::int64_t axis, bool descending) {
    return [axis, descending](Graph&, std::span<const Var> in) {
      const auto [values, indices] = sort(in[0], axis, descending);
      return std::vector<Var>{values, indices};
    };
  };
  return {
      {"ascending", {{{7}}}, with(0, false)},
      {"descending", {{{7}}}, with(-1, true)},
      {"first axis", {{{5, 3}}}, with(0, true)},
      {"middle axis", {{{2, 5, 3}}}, with(1, false)},
      {"last axis", {{{2, 3, 5}}}, with(-1, false)},
      {"one element", {{{1}}}, with(0, false)},
      {"empty axis", {{{2, 0}}}, with(1, false)},
      {"empty lines", {{{0, 3}}}, with(1, true)},
      {"values only",
       {{{3, 2}}},
       [](Graph&, std::span<const Var> in) { return std::vector<Var>{sort(in[0]).values}; }},
  };
}

std::vector<Sample> top_k_samples() {
  const auto with = [](std::int64_t k, std::int64_t axis, bool largest) {
    return [k, axis, largest](Graph&, std::span<const Var> in) {
      const auto [values, indices] = top_k(in[0], k, axis, largest);
      return std::vector<Var>{values, indices};
    };
  };
  return {
      {"largest", {{{7}}}, with(3, 0, true)},
      {"smallest", {{{7}}}, with(3, -1, false)},
      {"first axis", {{{5, 3}}}, with(2, 0, true)},
      {"middle axis", {{{2, 5, 3}}}, with(1, 1, false)},
      {"all", {{{2, 3}}}, with(3, 1, true)},
      {"none", {{{2, 3}}}, with(0, 1, true)},
      {"one element", {{{1}}}, with(1, 0, true)},
      {"empty lines", {{{0, 3}}}, with(2, 1, true)},
      {"k from a size",
       {{{2, 5}}},
       [](Graph&, std::span<const Var> in) {
         return std::vector<Var>{top_k(in[0], in[0].dim(1) / 2).values};
       }},
  };
}

}  // namespace

const OpDef& sort_def() {
  static const OpDef def{
      .name = "sort",
      .doc = "The elements along an axis in order, and where they came from; stable, NaN last.",
      .attributes = {{"axis", "the axis to sort along", {std::int64_t{-1}}},
                     {"descending", "largest first", {false}}},
      .dtypes = kNumbers,
      .infer = infer_sort,
      .vjp = sort_vjp,
      .vmap = vmap_along_axis(),
      .reference =
          [](KernelContext& context) { sort_lines(context, context.attr<bool>("descending")); },
      .samples = sort_samples,
  };
  return def;
}

const OpDef& top_k_def() {
  static const OpDef def{
      .name = "top_k",
      .doc = "The k largest or smallest elements along an axis in order, and where they came from.",
      .attributes = {{"k", "how many elements"},
                     {"axis", "the axis to search", {std::int64_t{-1}}},
                     {"largest", "take the largest, not the smallest", {true}}},
      .dtypes = kNumbers,
      .infer = infer_top_k,
      .vmap = vmap_along_axis(),
      .decompose = decompose_top_k,
      .reference =
          [](KernelContext& context) { sort_lines(context, context.attr<bool>("largest")); },
      .samples = top_k_samples,
  };
  return def;
}

Sorted sort(const Operand& x, std::int64_t axis, bool descending) {
  const std::vector<Var> outputs =
      apply_all(sort_def(), {x}, {{"axis", axis}, {"descending", descending}});
  return {outputs[0], outputs[1]};
}

Sorted top_k(const Operand& x, Dim k, std::int64_t axis, bool largest) {
  const std::vector<Var> outputs =
      apply_all(top_k_def(), {x}, {{"k", k}, {"axis", axis}, {"largest", largest}});
  return {outputs[0], outputs[1]};
}

std::vector<const OpDef*> sorting_family() { return {&sort_def(), &top_k_def()}; }

}  // namespace antichain
