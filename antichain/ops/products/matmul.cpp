#include "antichain/ops/products/matmul.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/products/row_products.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

Dims batch_dims(const Dims& shape) { return {shape.begin(), shape.end() - 2}; }

// Sums of products of bytes need room that a byte does not have.
DType product_dtype(DType operand) { return operand == i8 ? i32 : operand; }

std::vector<VarType> infer_matmul(InferContext& context) {
  context.require_inputs(2);
  context.require_dtype(0, kNumbers);
  const DType dtype = context.require_same_dtype();
  context.require_min_rank(0, 2);
  context.require_min_rank(1, 2);
  const bool transpose_a = context.attrs().get<bool>("transpose_a");
  const bool transpose_b = context.attrs().get<bool>("transpose_b");
  const Dims &a = context.shape(0), &b = context.shape(1);
  const Dim rows = a[a.size() - (transpose_a ? 1 : 2)],
            inner_a = a[a.size() - (transpose_a ? 2 : 1)];
  const Dim inner_b = b[b.size() - (transpose_b ? 1 : 2)],
            columns = b[b.size() - (transpose_b ? 2 : 1)];
  context.unify(inner_a, inner_b, "inner sizes");
  Dims shape = context.broadcast(batch_dims(a), batch_dims(b));
  shape.push_back(rows);
  shape.push_back(columns);
  return {{product_dtype(dtype), shape}};
}

// A batch of matrices as the rows of one.
Var stacked_rows(Var x) {
  const Dims& shape = x.shape();
  return reshape(x, {numel(Dims(shape.begin(), shape.end() - 1)), shape.back()});
}

std::vector<Var> matmul_vjp(VjpContext& context) {
  const bool ta = context.attrs().get<bool>("transpose_a"),
             tb = context.attrs().get<bool>("transpose_b");
  Var a = context.input(0), grad = context.grad();
  const Var b = context.input(1);
  Var grad_a, grad_b;
  if (context.needs(0)) {
    grad_a = ta ? matmul(b, grad, {tb, true}) : matmul(grad, b, {false, !tb});
    grad_a = sum_to(grad_a, a.shape());
  }
  if (context.needs(1)) {
    if (b.rank() == 2 && a.rank() > 2 && !ta) {
      // One product sums over the batch; a product for each of its matrices would have to be
      // stored.
      a = stacked_rows(a);
      grad = stacked_rows(grad);
    }
    grad_b = tb ? matmul(grad, a, {true, ta}) : matmul(a, grad, {!ta, false});
    grad_b = sum_to(grad_b, b.shape());
  }
  return {grad_a, grad_b};
}

void matmul_reference(KernelContext& context) {
  const bool ta = context.attr<bool>("transpose_a"), tb = context.attr<bool>("transpose_b");
  const Tensor& out = context.out();
  const auto broadcast_batch = [&out](const Tensor& input) {
    Shape shape(out.shape().begin(), out.shape().end() - 2);
    shape.insert(shape.end(), input.shape().end() - 2, input.shape().end());
    return input.broadcast_to(shape);
  };
  const std::int64_t rows = out.shape().end()[-2], columns = out.shape().end()[-1];
  const std::int64_t inner = context.in(0).shape().end()[ta ? -2 : -1];
  visit_compute(out.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> a = load<C>(broadcast_batch(context.in(0)));
    const std::vector<C> b = load<C>(broadcast_batch(context.in(1)));
    std::vector<C> result(static_cast<std::size_t>(out.numel()));
    const std::int64_t batch = rows * columns == 0 ? 0 : out.numel() / (rows * columns);
    for (std::int64_t n = 0; n < batch; ++n) {
      const C* left = a.data() + n * rows * inner;
      const C* right = b.data() + n * inner * columns;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          C total = 0;
          for (std::int64_t k = 0; k < inner; ++k) {
            total += left[ta ? k * rows + i : i * inner + k] *
                     right[tb ? j * inner + k : k * columns + j];
          }
          result[static_cast<std::size_t>((n * rows + i) * columns + j)] = total;
        }
      }
    }
    store(result, out);
  });
}

std::vector<Sample> matmul_samples() {
  const auto with = [](MatmulOptions options) {
    return [options](Graph&, std::span<const Var> in) {
      return std::vector<Var>{matmul(in[0], in[1], options)};
    };
  };
  return {
      {"plain", {{{3, 5}}, {{5, 2}}}, with({})},
      {"transpose_a", {{{5, 3}}, {{5, 2}}}, with({true, false})},
      {"transpose_b", {{{3, 5}}, {{2, 5}}}, with({false, true})},
      {"transpose_both", {{{5, 3}}, {{2, 5}}}, with({true, true})},
      {"one element", {{{1, 1}}, {{1, 1}}}, with({})},
      {"batched", {{{2, 3, 2}}, {{2, 2, 5}}}, with({})},
      {"shared right matrix", {{{2, 3, 4}}, {{4, 5}}}, with({})},
      {"shared right matrix, transposed", {{{2, 1, 3, 4}}, {{5, 4}}}, with({false, true})},
      {"shared right matrix of transposed", {{{2, 4, 3}}, {{4, 5}}}, with({true, false})},
      {"broadcast batch", {{{2, 1, 3, 2}}, {{3, 2, 2}}}, with({})},
      {"broadcast transposed", {{{2, 2, 3}}, {{2, 3, 2}}}, with({true, true})},
      {"empty inner", {{{2, 0}}, {{0, 3}}}, with({})},
      {"empty rows", {{{0, 2}}, {{2, 3}}}, with({})},
      {"sums beyond a byte", {{{2, 7}, 30, 40}, {{7, 3}, 30, 40}}, with({})},
  };
}

}  // namespace

const OpDef& matmul_def() {
  static const OpDef def{
      .name = "matmul",
      .doc =
          "Matrix product of the last two axes; leading axes broadcast. Of i8 the product is i32.",
      .attributes = {{"transpose_a", "use the first operand transposed", {false}},
                     {"transpose_b", "use the second operand transposed", {false}}},
      .dtypes = kNumbers,
      .infer = infer_matmul,
      .vjp = matmul_vjp,
      .vmap = vmap_matmul,
      .reference = matmul_reference,
      .samples = matmul_samples,
  };
  return def;
}

Var matmul(const Operand& a, const Operand& b, MatmulOptions options) {
  return apply(matmul_def(), {a, b},
               {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}});
}

std::vector<const OpDef*> matmul_family() { return {&matmul_def(), &row_products_def()}; }

}  // namespace antichain
