#include "antichain/ops/rows/along_axis.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

std::vector<VarType> infer_arg(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kNumbers);
  const int axis = context.axis("axis", context.rank(0));
  Dims shape = context.shape(0);
  require<ShapeError>(shape[static_cast<std::size_t>(axis)].range().max > 0,
                      "{}: there is no element to choose along axis {} of {}", context.op_name(),
                      axis, to_string(shape));
  if (context.attrs().get<bool>("keep_dims")) {
    shape[static_cast<std::size_t>(axis)] = 1;
  } else {
    shape.erase(shape.begin() + axis);
  }
  return {{DType::i64, shape}};
}

// The first of the best elements; the first NaN if there is one.
template <class Better>
void arg_reference(KernelContext& context, Better better) {
  const Tensor& x = context.in(0);
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  require<ShapeError>(split.size > 0 || context.out().numel() == 0,
                      "{}: there is no element to choose from", context.where);
  std::vector<std::int64_t> result;
  visit_compute(x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> values = load<C>(x);
    for (std::int64_t outer = 0; outer < split.outer; ++outer) {
      for (std::int64_t inner = 0; inner < split.inner; ++inner) {
        const C* column = values.data() + outer * split.size * split.inner + inner;
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < split.size; ++i) {
          const C value = column[i * split.inner], champion = column[best * split.inner];
          if (champion == champion && (value != value || better(value, champion))) {
            best = i;
          }
        }
        result.push_back(best);
      }
    }
  });
  store(result, context.out());
}

std::vector<Sample> arg_samples(const OpDef& (*self)()) {
  const auto with = [self](std::int64_t axis, bool keep) {
    return [self, axis, keep](Graph& graph, std::span<const Var> in) {
      return graph.add(self(), {in[0]}, {{"axis", axis}, {"keep_dims", keep}}).outputs();
    };
  };
  return {{"first", {{{3, 5}}}, with(0, false)},
          {"last kept", {{{3, 5}}}, with(-1, true)},
          {"one element", {{{1}}}, with(0, false)},
          {"empty rows", {{{0, 3}}}, with(1, false)}};
}

OpDef arg_op(std::string name, std::string doc, const OpDef& (*self)(),
             std::function<void(KernelContext&)> reference) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .attributes = {{"axis", "the axis to search"},
                         {"keep_dims", "keep the axis with size 1", {false}}},
          .dtypes = kNumbers,
          .infer = infer_arg,
          .no_gradient = "its result is a position",
          .vmap = vmap_along_axis(),
          .reference = std::move(reference),
          .samples = [self] { return arg_samples(self); }};
}

const OpDef& argmin_def() {
  static const OpDef def = arg_op(
      "argmin", "Position of the smallest element along an axis, the first at a tie.", argmin_def,
      [](KernelContext& context) { arg_reference(context, [](auto a, auto b) { return a < b; }); });
  return def;
}

const OpDef& argmax_def() {
  static const OpDef def = arg_op(
      "argmax", "Position of the largest element along an axis, the first at a tie.", argmax_def,
      [](KernelContext& context) { arg_reference(context, [](auto a, auto b) { return a > b; }); });
  return def;
}

void cumsum_reference(KernelContext& context) {
  const Tensor& x = context.in(0);
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  const bool exclusive = context.attr<bool>("exclusive"), reverse = context.attr<bool>("reverse");
  visit_compute(x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> values = load<C>(x);
    for (std::int64_t outer = 0; outer < split.outer; ++outer) {
      for (std::int64_t inner = 0; inner < split.inner; ++inner) {
        C total = 0;
        for (std::int64_t i = 0; i < split.size; ++i) {
          const std::int64_t position = reverse ? split.size - 1 - i : i;
          C& value = values[static_cast<std::size_t>((outer * split.size + position) * split.inner +
                                                     inner)];
          const C before = total;
          total += value;
          value = exclusive ? before : total;
        }
      }
    }
    store(values, context.out());
  });
}

const OpDef& cumsum_def() {
  static const OpDef def{
      .name = "cumsum",
      .doc = "Running sum along an axis.",
      .attributes = {{"axis", "the axis to walk along"},
                     {"exclusive", "leave the element itself out", {false}},
                     {"reverse", "start at the end", {false}}},
      .dtypes = kNumbers,
      .infer =
          [](InferContext& context) {
            context.require_inputs(1);
            context.require_dtype(0, kNumbers);
            context.axis("axis", context.rank(0));
            return std::vector<VarType>{{context.dtype(0), context.shape(0)}};
          },
      .vjp =
          [](VjpContext& context) {
            return Vars{cumsum(context.grad(), context.attrs().get<std::int64_t>("axis"),
                               {.exclusive = context.attrs().get<bool>("exclusive"),
                                .reverse = !context.attrs().get<bool>("reverse")})};
          },
      .vmap = vmap_along_axis(),
      .reference = cumsum_reference,
      .samples =
          [] {
            const auto with = [](std::int64_t axis, CumsumOptions options) {
              return [axis, options](Graph&, std::span<const Var> in) {
                return Vars{cumsum(in[0], axis, options)};
              };
            };
            return std::vector<Sample>{
                {"first", {{{5, 3}}}, with(0, {})},
                {"exclusive", {{{3, 5}}}, with(1, {.exclusive = true})},
                {"reverse", {{{2, 3, 2}}}, with(1, {.reverse = true})},
                {"both", {{{7}}}, with(-1, {.exclusive = true, .reverse = true})},
                {"empty", {{{0, 2}}}, with(0, {})}};
          },
  };
  return def;
}

}  // namespace

Var argmin(const Operand& x, std::int64_t axis, bool keep_dims) {
  return apply(argmin_def(), {x}, {{"axis", axis}, {"keep_dims", keep_dims}});
}

Var argmax(const Operand& x, std::int64_t axis, bool keep_dims) {
  return apply(argmax_def(), {x}, {{"axis", axis}, {"keep_dims", keep_dims}});
}

Var cumsum(const Operand& x, std::int64_t axis, CumsumOptions options) {
  return apply(cumsum_def(), {x},
               {{"axis", axis}, {"exclusive", options.exclusive}, {"reverse", options.reverse}});
}

std::vector<const OpDef*> along_axis_family() {
  return {&argmin_def(), &argmax_def(), &cumsum_def()};
}

}  // namespace antichain
