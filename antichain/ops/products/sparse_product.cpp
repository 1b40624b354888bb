// csr_product: products of sparse matrices whose patterns are known, and so is that of the result.
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/products/sparse_pattern.h"
#include "antichain/ops/products/sparse_vmap.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

// Inputs: values, columns and row_starts of a, those of b, columns and row_starts of the result.
constexpr int kA = 0, kB = 3, kResult = 6;

std::vector<VarType> infer_csr_product(InferContext& context) {
  context.require_inputs(8);
  const DType dtype = require_floats(context, kA, kB);
  Dim columns_a = context.attrs().get<Dim>("num_columns_a"),
      columns_b = context.attrs().get<Dim>("num_columns_b");
  Dim rows_a = require_pattern(context, kA + 1, columns_a),
      rows_b = require_pattern(context, kB + 1, columns_b);
  require<TypeError>(context.dtype(kA + 1) == context.dtype(kResult) &&
                         context.dtype(kB + 1) == context.dtype(kResult),
                     "{}: the patterns have different types, {}, {} and {}; cast some of them",
                     context.op_name(), name(context.dtype(kA + 1)), name(context.dtype(kB + 1)),
                     name(context.dtype(kResult)));
  for (const int values : {kA, kB}) {
    context.require_rank(values, 2);
    context.unify(context.shape(values)[1], context.shape(values + 1)[0],
                  "numbers of values and of columns");
  }
  if (context.attrs().get<bool>("transpose_a")) {
    std::swap(rows_a, columns_a);
  }
  if (context.attrs().get<bool>("transpose_b")) {
    std::swap(rows_b, columns_b);
  }
  context.unify(columns_a, rows_b, "columns of the first matrix and rows of the second");
  const Dim rows = require_pattern(context, kResult, columns_b);
  context.unify(rows, rows_a, "rows of the result and of the first matrix");
  const Dims count = context.broadcast({context.shape(kA)[0]}, {context.shape(kB)[0]});
  return {{dtype, {count[0], context.shape(kResult)[0]}}};
}

Csr csr_input(const VjpContext& context, int first, Dim num_columns) {
  return {context.input(first), context.input(first + 1), context.input(first + 2), num_columns};
}

// With X and Y the matrices as they are multiplied, X Y gives dX = dC Yᵀ and dY = Xᵀ dC, of which
// only the stored positions count: products at stored positions again.
std::vector<Var> csr_product_vjp(VjpContext& context) {
  const Attrs& attrs = context.attrs();
  const bool turned_a = attrs.get<bool>("transpose_a"), turned_b = attrs.get<bool>("transpose_b");
  const Csr a = csr_input(context, kA, attrs.get<Dim>("num_columns_a"));
  const Csr b = csr_input(context, kB, attrs.get<Dim>("num_columns_b"));
  const Dim columns = turned_b ? b.row_starts.dim(0) - 1 : b.num_columns;
  const Csr grad{context.grad(), context.input(kResult), context.input(kResult + 1), columns};
  // A matrix that was used for all of a batch gets the sum of its gradients.
  const auto fitted = [&](Var found, Var values) {
    return sum_to(reshape(found, {found.dim(0), values.dim(1)}), values.shape());
  };
  std::vector<Var> grads(8);
  if (context.needs(kA)) {
    const Var found = turned_a
                          ? csr_product(b, grad, a, {.transpose_a = turned_b, .transpose_b = true})
                          : csr_product(grad, b, a, {.transpose_b = !turned_b});
    grads[kA] = fitted(found, a.values);
  }
  if (context.needs(kB)) {
    const Var found = turned_b
                          ? csr_product(grad, a, b, {.transpose_a = true, .transpose_b = turned_a})
                          : csr_product(a, grad, b, {.transpose_a = !turned_a});
    grads[kB] = fitted(found, b.values);
  }
  return grads;
}

// A stored element of a row.
struct Stored {
  std::size_t element, column;
};

// The rows of the matrix at inputs `first` …, or of its transpose.
std::vector<std::vector<Stored>> rows_of(const KernelContext& context, int first,
                                         const char* columns, const char* transpose) {
  const bool turned = context.attr<bool>(transpose);
  const std::int64_t num_columns = context.size(columns);
  std::vector<std::vector<Stored>> rows(
      static_cast<std::size_t>(turned ? num_columns : context.in(first + 2).numel() - 1));
  for_each_stored(context, first + 1, num_columns,
                  [&](std::size_t element, std::size_t row, std::size_t column) {
                    rows[turned ? column : row].push_back({element, turned ? row : column});
                  });
  return rows;
}

void csr_product_reference(KernelContext& context) {
  const auto a = load<double>(context.in(kA)), b = load<double>(context.in(kB));
  const auto rows_a = rows_of(context, kA, "num_columns_a", "transpose_a");
  const auto rows_b = rows_of(context, kB, "num_columns_b", "transpose_b");
  const std::int64_t columns = context.attr<bool>("transpose_b") ? context.in(kB + 2).numel() - 1
                                                                 : context.size("num_columns_b");
  const Shape& shape = context.out().shape();
  std::vector<double> result(static_cast<std::size_t>(context.out().numel()));
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    const auto part = [n](const Tensor& values) {
      return static_cast<std::size_t>(values.shape()[0] == 1 ? 0 : n * values.shape()[1]);
    };
    const std::size_t from_a = part(context.in(kA)), from_b = part(context.in(kB));
    // A row of the whole product, when a stored element of that row is met first.
    std::vector<double> whole(static_cast<std::size_t>(columns));
    std::size_t current = rows_a.size();
    for_each_stored(
        context, kResult, columns, [&](std::size_t element, std::size_t row, std::size_t column) {
          if (row != current) {
            current = row;
            whole.assign(whole.size(), 0);
            for (const Stored& left : rows_a[row]) {
              for (const Stored& right : rows_b[left.column]) {
                whole[right.column] += a[from_a + left.element] * b[from_b + right.element];
              }
            }
          }
          result[static_cast<std::size_t>(n * shape[1]) + element] = whole[column];
        });
  }
  store(result, context.out());
}

// A matrix of a sample: its pattern and how many of it there are.
struct SampleMatrix {
  std::int64_t count, num_columns;
  Ints columns, row_starts;
};

std::vector<Sample> csr_product_samples() {
  const auto sample = [](std::string label, const SampleMatrix& a, const SampleMatrix& b,
                         const SampleMatrix& pattern, CsrProductOptions options = {},
                         DType index = DType::i64) -> Sample {
    const auto fixed = [index](const Ints& values) -> SampleInput {
      return {
          .shape = {static_cast<std::int64_t>(values.size())}, .dtype = index, .values = values};
    };
    const auto values = [](const SampleMatrix& matrix) -> SampleInput {
      return {{matrix.count, static_cast<std::int64_t>(matrix.columns.size())}};
    };
    return {
        std::move(label),
        {values(a), fixed(a.columns), fixed(a.row_starts), values(b), fixed(b.columns),
         fixed(b.row_starts), fixed(pattern.columns), fixed(pattern.row_starts)},
        [options, columns_a = a.num_columns, columns_b = b.num_columns](Graph&, Inputs in) {
          return one(csr_product({in[0], in[1], in[2], columns_a}, {in[3], in[4], in[5], columns_b},
                                 {{}, in[6], in[7], 0}, options));
        }};
  };
  // [3, 4], its transpose's rows and columns, [4, 2], and the elements of their product.
  const SampleMatrix a{2, 4, {0, 2, 3, 1, 2}, {0, 2, 2, 5}}, b{2, 2, {1, 0, 1, 0}, {0, 1, 1, 3, 4}};
  const SampleMatrix product{2, 2, {0, 1, 0, 1}, {0, 2, 2, 4}};
  const auto once = [](SampleMatrix matrix) {
    matrix.count = 1;
    return matrix;
  };
  const SampleMatrix turned_a{2, 3, {0, 2, 0, 2, 2}, {0, 1, 2, 4, 5}},
      turned_b{2, 4, {2, 3, 0, 2}, {0, 2, 4}};
  return {
      sample("a batch", a, b, product),
      sample("one for all of a", once(a), b, product, {}, DType::i32),
      sample("one for all of b", a, once(b), product),
      sample("single", once(a), once(b), product),
      sample("fewer elements", a, b, {2, 2, {1, 0}, {0, 1, 1, 2}}),
      sample("unordered and repeated", {2, 2, {1, 0, 1}, {0, 3}}, {2, 3, {2, 2, 0}, {0, 2, 3}},
             {2, 3, {2, 0, 2, 1}, {0, 4}}),
      sample("a transposed", turned_a, b, product, {.transpose_a = true}),
      sample("b transposed", a, turned_b, product, {.transpose_b = true}),
      sample("both transposed", turned_a, turned_b, product,
             {.transpose_a = true, .transpose_b = true}),
      sample("nothing stored", {2, 3, {}, {0, 0}}, {2, 1, {0}, {0, 1, 1, 1}}, {2, 1, {0}, {0, 1}}),
      sample("no rows", {2, 1, {}, {0}}, {2, 2, {0}, {0, 1}}, {2, 2, {}, {0}}),
      sample("an empty batch", {0, 1, {0}, {0, 1}}, {0, 1, {0}, {0, 1}}, {0, 1, {0}, {0, 1}}),
  };
}

}  // namespace

const OpDef& csr_product_def() {
  static const OpDef def{
      .name = "csr_product",
      .doc =
          "Products of two batches of sparse matrices, or their transposes, at the stored "
          "positions (columns, row_starts) of a third.",
      .attributes = {{"num_columns_a", "columns of a"},
                     {"num_columns_b", "columns of b"},
                     {"transpose_a", "use a transposed", {false}},
                     {"transpose_b", "use b transposed", {false}}},
      .infer = infer_csr_product,
      .vjp = csr_product_vjp,
      .vmap = vmap_csr_product,
      .vmap_serially = kPatternsOfEachCopy,
      .reference = csr_product_reference,
      .samples = csr_product_samples,
  };
  return def;
}

Var csr_product(const Csr& a, const Csr& b, const Csr& pattern, const CsrProductOptions& options,
                Place place) {
  const auto here = [&](Var var) { return Operand(var, place); };
  return apply(
      csr_product_def(),
      {here(a.values), here(a.columns), here(a.row_starts), here(b.values), here(b.columns),
       here(b.row_starts), here(pattern.columns), here(pattern.row_starts)},
      {{"num_columns_a", a.num_columns},
       {"num_columns_b", b.num_columns},
       {"transpose_a", options.transpose_a},
       {"transpose_b", options.transpose_b}});
}

}  // namespace antichain
