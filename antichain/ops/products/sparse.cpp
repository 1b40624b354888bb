#include "antichain/ops/products/sparse.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/products/sparse_pattern.h"
#include "antichain/ops/products/sparse_vmap.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

std::vector<VarType> infer_csr_matmul(InferContext& context) {
  context.require_inputs(4);
  const DType dtype = require_floats(context, 0, 3);
  context.require_rank(0, 1);
  context.require_rank(3, 2);
  Dim columns = context.attrs().get<Dim>("num_columns"),
      rows = require_pattern(context, 1, columns);
  context.unify(context.shape(0)[0], context.shape(1)[0], "numbers of values and of columns");
  if (context.attrs().get<bool>("transposed")) {
    std::swap(rows, columns);
  }
  const Dims& dense = context.shape(3);
  context.unify(columns, dense[0], "inner sizes of the sparse and the dense matrix");
  return {{dtype, {rows, dense[1]}}};
}

std::vector<VarType> infer_csr_sampled_matmul(InferContext& context) {
  context.require_inputs(4);
  const Dim columns = context.attrs().get<Dim>("num_columns");
  const Dim rows = require_pattern(context, 0, columns);
  const DType dtype = require_floats(context, 2, 3);
  context.require_rank(2, 2);
  context.require_rank(3, 2);
  const Dims &a = context.shape(2), &b = context.shape(3);
  context.unify(rows, a[0], "rows of the pattern and of a");
  context.unify(columns, b[0], "columns of the pattern and rows of b");
  context.unify(a[1], b[1], "inner sizes of a and b");
  return {{dtype, {context.shape(0)[0]}}};
}

// Gradients are reshaped to their inputs: sizes that only the run finds equal may be written
// differently.

// With S the sparse matrix: Y = S D gives dD = Sᵀ dY and dS = dY Dᵀ; Y = Sᵀ D gives dD = S dY and
// dS = D dYᵀ.
std::vector<Var> csr_matmul_vjp(VjpContext& context) {
  const bool transposed = context.attrs().get<bool>("transposed");
  const Csr sparse{context.input(0), context.input(1), context.input(2),
                   context.attrs().get<Dim>("num_columns")};
  const Var dense = context.input(3), grad = context.grad();
  Var grad_values, grad_dense;
  if (context.needs(0)) {
    grad_values = transposed ? csr_sampled_matmul(sparse, dense, grad)
                             : csr_sampled_matmul(sparse, grad, dense);
    grad_values = reshape(grad_values, sparse.values.shape());
  }
  if (context.needs(3)) {
    grad_dense = reshape(csr_matmul(sparse, grad, !transposed), dense.shape());
  }
  return {grad_values, {}, {}, grad_dense};
}

std::vector<Var> csr_sampled_matmul_vjp(VjpContext& context) {
  const Csr grad{context.grad(), context.input(0), context.input(1),
                 context.attrs().get<Dim>("num_columns")};
  const Var a = context.input(2), b = context.input(3);
  Var grad_a, grad_b;
  if (context.needs(2)) {
    grad_a = reshape(csr_matmul(grad, b), a.shape());
  }
  if (context.needs(3)) {
    grad_b = reshape(csr_matmul(grad, a, true), b.shape());
  }
  return {{}, {}, grad_a, grad_b};
}

void csr_matmul_reference(KernelContext& context) {
  const bool transposed = context.attr<bool>("transposed");
  const auto values = load<double>(context.in(0)), dense = load<double>(context.in(3));
  const std::size_t width = static_cast<std::size_t>(context.out().shape()[1]);
  std::vector<double> result(static_cast<std::size_t>(context.out().numel()));
  for_each_stored(context, 1, context.size("num_columns"),
                  [&](std::size_t element, std::size_t row, std::size_t column) {
                    const std::size_t to = transposed ? column : row,
                                      from = transposed ? row : column;
                    for (std::size_t j = 0; j < width; ++j) {
                      result[to * width + j] += values[element] * dense[from * width + j];
                    }
                  });
  store(result, context.out());
}

void csr_sampled_matmul_reference(KernelContext& context) {
  const auto a = load<double>(context.in(2)), b = load<double>(context.in(3));
  const std::size_t width = static_cast<std::size_t>(context.in(2).shape()[1]);
  std::vector<double> result(static_cast<std::size_t>(context.out().numel()));
  for_each_stored(context, 0, context.size("num_columns"),
                  [&](std::size_t element, std::size_t row, std::size_t column) {
                    for (std::size_t j = 0; j < width; ++j) {
                      result[element] += a[row * width + j] * b[column * width + j];
                    }
                  });
  store(result, context.out());
}

// Patterns of matrices, for samples.
struct PatternCase {
  std::string label;
  std::int64_t rows, num_columns;
  Ints columns, row_starts;
  DType index = DType::i64;
};

std::vector<PatternCase> pattern_cases() {
  return {
      {"an empty row", 3, 4, {0, 2, 3, 1, 2}, {0, 2, 2, 5}},
      {"i32", 2, 3, {1, 0, 2}, {0, 1, 3}, DType::i32},
      {"unordered and repeated", 2, 5, {4, 1, 1, 3, 0, 3, 3}, {0, 3, 7}},
      {"one element", 1, 1, {0}, {0, 1}},
      {"nothing stored", 2, 3, {}, {0, 0, 0}},
      {"no rows", 0, 2, {}, {0}, DType::i32},
  };
}

SampleInput fixed(const PatternCase& pattern, const Ints& values) {
  return {.shape = {static_cast<std::int64_t>(values.size())},
          .dtype = pattern.index,
          .values = values};
}

std::vector<Sample> csr_matmul_samples() {
  std::vector<Sample> samples;
  for (const PatternCase& use : pattern_cases()) {
    const SampleInput values{{static_cast<std::int64_t>(use.columns.size())}};
    const SampleInput columns = fixed(use, use.columns), row_starts = fixed(use, use.row_starts);
    samples.push_back({use.label,
                       {values, columns, row_starts, {{use.num_columns, 3}}},
                       [](Graph&, std::span<const Var> in) {
                         const Csr sparse{in[0], in[1], in[2], in[3].dim(0)};
                         return std::vector<Var>{csr_matmul(sparse, in[3])};
                       }});
    samples.push_back({use.label + ", transposed",
                       {values, columns, row_starts, {{use.rows, 2}}},
                       [size = use.num_columns](Graph&, std::span<const Var> in) {
                         const Csr sparse{in[0], in[1], in[2], size};
                         return std::vector<Var>{csr_matmul(sparse, in[3], true)};
                       }});
  }
  return samples;
}

std::vector<Sample> csr_sampled_matmul_samples() {
  std::vector<Sample> samples;
  for (const PatternCase& use : pattern_cases()) {
    samples.push_back({use.label,
                       {fixed(use, use.columns),
                        fixed(use, use.row_starts),
                        {{use.rows, 3}},
                        {{use.num_columns, 3}}},
                       [](Graph&, std::span<const Var> in) {
                         const Csr pattern{{}, in[0], in[1], in[3].dim(0)};
                         return std::vector<Var>{csr_sampled_matmul(pattern, in[2], in[3])};
                       }});
  }
  return samples;
}

}  // namespace

const OpDef& csr_matmul_def() {
  static const OpDef def{
      .name = "csr_matmul",
      .doc =
          "Product of a sparse matrix (values, columns, row_starts), or its transpose, and a dense "
          "one.",
      .attributes = {{"num_columns", "columns of the sparse matrix"},
                     {"transposed", "use the sparse matrix transposed", {false}}},
      .infer = infer_csr_matmul,
      .vjp = csr_matmul_vjp,
      .vmap = vmap_csr_matmul,
      .reference = csr_matmul_reference,
      .samples = csr_matmul_samples,
  };
  return def;
}

const OpDef& csr_sampled_matmul_def() {
  static const OpDef def{
      .name = "csr_sampled_matmul",
      .doc =
          "The elements of a · bᵀ at the stored positions (columns, row_starts) of a sparse "
          "matrix.",
      .attributes = {{"num_columns", "columns of the sparse matrix"}},
      .infer = infer_csr_sampled_matmul,
      .vjp = csr_sampled_matmul_vjp,
      .vmap = vmap_csr_sampled_matmul,
      .reference = csr_sampled_matmul_reference,
      .samples = csr_sampled_matmul_samples,
  };
  return def;
}

// The parts of a Csr are written down earlier; errors should point at the product.
Var csr_matmul(const Csr& sparse, const Operand& dense, bool transposed) {
  const Place& place = dense.location();
  return apply(csr_matmul_def(),
               {Operand(sparse.values, place), Operand(sparse.columns, place),
                Operand(sparse.row_starts, place), dense},
               {{"num_columns", sparse.num_columns}, {"transposed", transposed}});
}

Var csr_sampled_matmul(const Csr& pattern, const Operand& a, const Operand& b) {
  const Place& place = a.location();
  return apply(csr_sampled_matmul_def(),
               {Operand(pattern.columns, place), Operand(pattern.row_starts, place), a, b},
               {{"num_columns", pattern.num_columns}});
}

std::vector<const OpDef*> sparse_family() {
  return {&csr_matmul_def(), &csr_sampled_matmul_def(), &csr_product_def()};
}

}  // namespace antichain
