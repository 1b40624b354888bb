#include "antichain/ops/products/row_products.h"

#include <algorithm>
#include <numeric>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

std::vector<VarType> infer_row_products(InferContext& context) {
  const auto lefts = context.attrs().get<std::int64_t>("lefts");
  const bool ones = context.attrs().get<bool>("ones");
  require(lefts > 0 && lefts <= context.num_inputs(),
          "row_products: {} of {} matrices cannot be the lefts", lefts, context.num_inputs());
  require(ones || lefts < context.num_inputs(), "row_products: there is nothing to multiply by");
  context.require_dtype(0, kFloats);
  const DType dtype = context.require_same_dtype();
  Dim down = 0, across = ones ? 1 : 0;
  for (int i = 0; i < context.num_inputs(); ++i) {
    context.require_rank(i, 2);
    context.unify(context.shape(0)[0], context.shape(i)[0], "rows");
    Dim& columns = i < lefts ? down : across;
    columns = columns + context.shape(i)[1];
  }
  return {{dtype, {down, across}}};
}

Var side_by_side(const Vars& parts) { return parts.size() == 1 ? parts[0] : concat(parts, 1); }

Vars decompose_row_products(Op op) {
  const Vars inputs = op.inputs();
  const auto first_right = inputs.begin() + op.attrs().get<std::int64_t>("lefts");
  const Var left = side_by_side({inputs.begin(), first_right});
  Vars columns;
  if (first_right != inputs.end()) {
    columns.push_back(
        matmul(left, side_by_side({first_right, inputs.end()}), {.transpose_a = true}));
  }
  if (op.attrs().get<bool>("ones")) {
    columns.push_back(reshape(sum(left, {0}), {left.dim(1), 1}));
  }
  return {side_by_side(columns)};
}

void row_products_reference(KernelContext& context) {
  const auto lefts = context.attr<std::int64_t>("lefts");
  const std::int64_t rows = context.in(0).shape()[0], columns = context.out().shape()[1];
  std::vector<double> result(static_cast<std::size_t>(context.out().numel()));
  // Adds the product of two matrices to the part of the result that begins at a row and a column.
  const auto add = [&](const Tensor& a, std::int64_t row, const std::vector<double>& right,
                       std::int64_t width, std::int64_t column) {
    const std::vector<double> left = load<double>(a);
    const std::int64_t height = a.shape()[1];
    for (std::int64_t k = 0; k < rows; ++k) {
      for (std::int64_t m = 0; m < height; ++m) {
        for (std::int64_t n = 0; n < width; ++n) {
          result[static_cast<std::size_t>((row + m) * columns + column + n)] +=
              left[static_cast<std::size_t>(k * height + m)] *
              right[static_cast<std::size_t>(k * width + n)];
        }
      }
    }
  };
  const std::vector<double> ones(static_cast<std::size_t>(rows), 1.0);
  std::int64_t row = 0;
  for (int i = 0; i < lefts; ++i) {
    std::int64_t column = 0;
    for (int j = static_cast<int>(lefts); j < context.num_inputs(); ++j) {
      add(context.in(i), row, load<double>(context.in(j)), context.in(j).shape()[1], column);
      column += context.in(j).shape()[1];
    }
    if (column < columns) {
      add(context.in(i), row, ones, 1, column);
    }
    row += context.in(i).shape()[1];
  }
  store(result, context.out());
}

std::vector<Sample> row_products_samples() {
  const auto with = [](std::size_t lefts, bool ones) {
    return [lefts, ones](Graph&, std::span<const Var> in) {
      return Vars{row_products({in.begin(), in.begin() + static_cast<std::ptrdiff_t>(lefts)},
                               {in.begin() + static_cast<std::ptrdiff_t>(lefts), in.end()}, ones)};
    };
  };
  return {{"two lefts and two rights", {{{7, 3}}, {{7, 2}}, {{7, 4}}, {{7, 1}}}, with(2, true)},
          {"without ones", {{{5, 4}}, {{5, 4}}, {{5, 3}}}, with(1, false)},
          {"sums of rows alone", {{{7, 3}}, {{7, 4}}}, with(2, true)},
          {"one of each", {{{11, 2}}, {{11, 3}}}, with(1, false)},
          {"no row", {{{0, 2}}, {{0, 3}}}, with(1, true)},
          {"no column", {{{3, 0}}, {{3, 2}}}, with(1, true)},
          {"one row", {{{1, 2}}, {{1, 3}}, {{1, 1}}}, with(2, true)}};
}

}  // namespace

bool fits_row_products(const RowProductWidths& widths) {
  constexpr std::int64_t kMostDown = 96, kMostAcross = 64;  // 256 threads with 64 sums at most
  constexpr std::size_t kMostMatrices = 8;                  // of either side
  const auto total = [](const std::vector<std::int64_t>& all) {
    return std::accumulate(all.begin(), all.end(), std::int64_t{0});
  };
  const auto is_empty = [](std::int64_t width) { return width == 0; };
  return widths.lefts.size() <= kMostMatrices && widths.rights.size() <= kMostMatrices &&
         std::ranges::none_of(widths.lefts, is_empty) &&
         std::ranges::none_of(widths.rights, is_empty) && total(widths.lefts) <= kMostDown &&
         total(widths.rights) + (widths.ones ? 1 : 0) <= kMostAcross;
}

const OpDef& row_products_def() {
  static const OpDef def{
      .name = "row_products",
      .doc =
          "Sums over the rows of several matrices at once: the lefts, side by side and transposed, "
          "times the rights, side by side.",
      .attributes = {{"lefts", "how many of the matrices are lefts, the first ones"},
                     {"ones", "a column of ones stands behind the rights", {false}}},
      .infer = infer_row_products,
      .decompose = decompose_row_products,
      .reference = row_products_reference,
      .samples = row_products_samples,
  };
  return def;
}

Var row_products(const std::vector<Var>& lefts, const std::vector<Var>& rights, bool ones,
                 Place place) {
  require(!lefts.empty(), "row_products: needs at least one left matrix");
  Vars inputs = lefts;
  inputs.insert(inputs.end(), rights.begin(), rights.end());
  const Attrs attrs = {{"lefts", static_cast<std::int64_t>(lefts.size())}, {"ones", ones}};
  return lefts[0].graph().add(row_products_def(), inputs, attrs, {}, place).output();
}

}  // namespace antichain
