#include "antichain/ops/rows/row_squares.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain {

namespace {

std::vector<VarType> infer_sum_row_squares(InferContext& context) {
  const bool some = context.num_inputs() > 1;
  context.require_inputs(some ? 2 : 1);
  context.require_dtype(0, kFloats);
  context.require_min_rank(0, 1);
  if (some) {
    context.require_dtype(1, {DType::boolean});
    context.require_rank(1, 1);
    context.unify(context.shape(1)[0], context.shape(0)[0], "the numbers of marks and rows");
  }
  const DType rounded = context.attrs().get<DType>("rounded_to");
  require<TypeError>(rounded == context.dtype(0) ||
                         (some && is_float(rounded) && buffer_dtype(rounded) == context.dtype(0)),
                     "{}: {} is not rounded to {}", context.op_name(), name(context.dtype(0)),
                     name(rounded));
  return {{DType::f64, {}}};
}

std::vector<Var> sum_row_squares_vjp(VjpContext& context) {
  const Var x = cast(cast(context.input(0), context.attrs().get<DType>("rounded_to")),
                     context.input(0).dtype());
  Var grad = 2 * x * cast(context.grad(), x.dtype());
  if (context.num_inputs() == 1) {
    return {grad};
  }
  Dims column(x.shape().size(), 1);
  column[0] = x.dim(0);
  return {grad * cast(reshape(context.input(1), column), x.dtype()), Var{}};
}

void sum_row_squares_reference(KernelContext& context) {
  std::vector<double> x = load<double>(context.in(0));
  visit_dtype(context.attrs->get<DType>("rounded_to"), [&x](auto zero) {
    for (double& element : x) {
      element = convert<double>(convert<decltype(zero)>(element));
    }
  });
  const std::int64_t rows = context.in(0).shape()[0];
  const std::size_t width = rows == 0 ? 0 : x.size() / static_cast<std::size_t>(rows);
  const bool* const marked = context.num_inputs() > 1 ? context.in(1).data<bool>() : nullptr;
  double total = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    if (marked != nullptr && !marked[row]) {
      continue;
    }
    double squares = 0;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      squares += x[i] * x[i];
    }
    total += squares;
  }
  *context.out().data<double>() = total;
}

std::vector<Sample> sum_row_squares_samples() {
  const auto all = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{sum_row_squares(in[0])};
  };
  const auto some = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{sum_row_squares(in[0], in[1])};
  };
  const auto rounded = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{sum_row_squares(in[0], in[1], DType::bf16),
                            sum_row_squares(in[0], in[1], DType::f16)};
  };
  const SampleInput marks = {.shape = {5}, .dtype = DType::boolean, .values = {1, 0, 0, 1, 1}};
  return {{"matrix", {{{7, 19}}}, all},
          {"three axes", {{{3, 2, 5}}}, all},
          {"vector", {{{11}}}, all},
          {"marked rows", {SampleInput{{5, 3}}, marks}, some},
          {"rounded rows", {SampleInput{.shape = {5, 19}, .dtype = DType::f32}, marks}, rounded},
          {"many rows", {{{1031, 2}}}, all},
          {"no rows", {{{0, 3}}}, all},
          {"empty rows", {{{3, 0}}}, all}};
}

}  // namespace

const OpDef& sum_row_squares_def() {
  static const OpDef def{
      .name = "sum_row_squares",
      .doc = "The sum of squares of all elements, row by row: rows of zeros change no bit.",
      .attributes = {{"rounded_to", "what elements of f32 are rounded to before; their own type"}},
      .infer = infer_sum_row_squares,
      .vjp = sum_row_squares_vjp,
      .vmap_serially = "its sum is made in an order of its own, for the bits of each copy alone",
      .reference = sum_row_squares_reference,
      .samples = sum_row_squares_samples,
  };
  return def;
}

Var sum_row_squares(const Operand& x) {
  return apply(sum_row_squares_def(), {x}, {{"rounded_to", x.var().dtype()}});
}

Var sum_row_squares(const Operand& x, const Operand& marked) {
  return sum_row_squares(x, marked, x.var().dtype());
}

Var sum_row_squares(const Operand& x, const Operand& marked, DType rounded_to) {
  return apply(sum_row_squares_def(), {x, marked}, {{"rounded_to", rounded_to}});
}

}  // namespace antichain
