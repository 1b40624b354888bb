// argmin, argmax, cumsum and products with sparse matrices on random shapes: every kernel gives the
// reference's values, and the same bits on any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"

namespace antichain::cpu::along_test {

constexpr int kRounds = 60;

using Build = std::function<Var(std::span<const Var>)>;

int check(const char* op, const std::vector<Tensor>& inputs, double tolerance, const Build& build) {
  return expect_kernels_agree(
      {find_op(op), inputs,
       [build](Graph&, std::span<const Var> in) { return std::vector<Var>{build(in)}; }},
      tolerance, std::string(op) + " of " + to_string(inputs[0].shape()));
}

TEST(AlongAxis, ArgminAndArgmax) {
  Draw draw(41);
  int checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t rank = draw.between(1, 4), axis = draw.between(0, rank - 1);
    const Shape shape = draw.shape(rank, 20000);
    if (shape[static_cast<std::size_t>(axis)] == 0) {
      continue;
    }
    // Whole numbers, so that there are ties; and some NaN.
    Tensor x =
        draw.values(i64, shape, -5, 5).cast(draw.one_of({f32, f64, bf16, f16, i8, i32, i64}));
    if (x.dtype() == f32 && x.numel() > 0) {
      for (int n = 0; n < 3; ++n) {
        x.data<float>()[draw.between(0, x.numel() - 1)] = NAN;
      }
    }
    checked += check("argmin", {x}, 0, [axis](auto in) { return argmin(in[0], axis); });
    checked += check("argmax", {x}, 0, [axis](auto in) { return argmax(in[0], axis, true); });
  }
  EXPECT_GE(checked, kRounds);
}

TEST(AlongAxis, TopK) {
  Draw draw(44);
  int checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    Shape shape = draw.shape(draw.between(1, 3), 20000);
    shape.back() = draw.one_of<std::int64_t>({1, 5, 64, 67, 3001});
    const std::int64_t k = draw.between(0, std::min<std::int64_t>(shape.back(), 64));
    const bool largest = draw.between(0, 1) == 0;
    // Whole numbers, so that there are ties; and some NaN, in front, too.
    Tensor x =
        draw.values(i64, shape, -50, 50).cast(draw.one_of({f32, f64, bf16, f16, i8, i32, i64}));
    if (x.dtype() == f32 && x.numel() > 0) {
      x.data<float>()[0] = NAN;
      for (int n = 0; n < 3; ++n) {
        x.data<float>()[draw.between(0, x.numel() - 1)] = NAN;
      }
    }
    checked += expect_kernels_agree({find_op("top_k"),
                                     {x},
                                     [=](Graph&, std::span<const Var> in) {
                                       const auto [values, indices] = top_k(in[0], k, -1, largest);
                                       return std::vector<Var>{values, indices};
                                     }},
                                    0, "top_k of " + to_string(shape));
  }
  EXPECT_EQ(checked, kRounds);
  EXPECT_EQ(check("top_k", {draw.values(f32, {9, 4})}, 0,
                  [](auto in) { return top_k(in[0], 3, 0).values; }),
            0);  // along another axis than the last
}

TEST(AlongAxis, Cumsum) {
  Draw draw(42);
  int checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    // Now and then long lines, which are added up in pieces.
    const Shape shape = round % 10 == 0 ? draw.one_of<Shape>({{100003}, {2, 70001}, {70001, 2}})
                                        : draw.shape(draw.between(1, 4), 20000);
    const std::int64_t axis = draw.between(0, static_cast<std::int64_t>(shape.size()) - 1);
    const DType dtype = draw.one_of({f32, f64, bf16, f16, i8, i32, i64});
    const CumsumOptions options{draw.between(0, 1) == 0, draw.between(0, 1) == 0};
    checked += check("cumsum", {draw.values(dtype, shape)}, tolerance_of(dtype, numel(shape)),
                     [=](auto in) { return cumsum(in[0], axis, options); });
  }
  EXPECT_EQ(checked, kRounds);
}

TEST(Sparse, ProductsOfRandomPatterns) {
  Draw draw(43);
  int checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t rows = draw.between(0, 300), columns = draw.between(1, 300);
    const std::int64_t width = draw.one_of<std::int64_t>({1, 3, 16, 67, 300});
    std::vector<std::int64_t> starts = {0};
    for (std::int64_t row = 0; row < rows; ++row) {
      starts.push_back(starts.back() + draw.between(0, 12));
    }
    const Tensor at = draw.indices({starts.back()}, columns);
    const Tensor row_starts = Tensor::of<std::int64_t>({rows + 1}, starts).cast(at.dtype());
    const DType dtype = draw.one_of({f32, f64, bf16, f16});
    const Tensor values = draw.values(dtype, {starts.back()});
    for (const bool transposed : {false, true}) {
      checked +=
          check("csr_matmul",
                {values, at, row_starts, draw.values(dtype, {transposed ? rows : columns, width})},
                0, [=](auto in) {
                  return csr_matmul({in[0], in[1], in[2], columns}, in[3], transposed);
                });
    }
    checked += check(
        "csr_sampled_matmul",
        {at, row_starts, draw.values(dtype, {rows, width}), draw.values(dtype, {columns, width})},
        tolerance_of(dtype, width), [=](auto in) {  // vectors add in another order
          return csr_sampled_matmul({{}, in[0], in[1], columns}, in[2], in[3]);
        });
  }
  // Every instruction-set level that this CPU has.
  EXPECT_GE(checked, 3 * kRounds);
  EXPECT_EQ(checked % (3 * kRounds), 0);
}

// A sparse matrix with any number of elements per row.
struct DrawnPattern {
  Tensor columns, row_starts;
};

DrawnPattern draw_pattern(Draw& draw, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> starts = {0};
  for (std::int64_t row = 0; row < rows; ++row) {
    starts.push_back(starts.back() + draw.between(0, 9));
  }
  return {draw.values(i64, {starts.back()}, 0, static_cast<double>(columns - 1)),
          Tensor::of<std::int64_t>({rows + 1}, starts)};
}

TEST(Sparse, ProductsOfTwoRandomPatterns) {
  Draw draw(44);
  int checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t rows = draw.between(0, 200), inner = draw.between(1, 150),
                       columns = draw.between(1, 300);
    const bool turned_a = draw.coin(), turned_b = draw.coin();
    const std::int64_t columns_a = turned_a ? rows : inner, columns_b = turned_b ? inner : columns;
    if (columns_a == 0) {
      continue;
    }
    const DType dtype = draw.one_of({f32, f64, bf16, f16}), index = draw.one_of({i32, i64});
    const DrawnPattern a = draw_pattern(draw, turned_a ? inner : rows, columns_a),
                       b = draw_pattern(draw, turned_b ? columns : inner, columns_b),
                       result = draw_pattern(draw, rows, columns);
    const std::int64_t count = draw.between(1, 4);
    const auto values = [&](const DrawnPattern& pattern) {
      return draw.values(dtype, {draw.coin() ? 1 : count, pattern.columns.numel()});
    };
    checked += check("csr_product",
                     {values(a), a.columns.cast(index), a.row_starts.cast(index), values(b),
                      b.columns.cast(index), b.row_starts.cast(index), result.columns.cast(index),
                      result.row_starts.cast(index)},
                     0, [=](auto in) {
                       return csr_product({in[0], in[1], in[2], columns_a},
                                          {in[3], in[4], in[5], columns_b}, {{}, in[6], in[7], 0},
                                          {.transpose_a = turned_a, .transpose_b = turned_b});
                     });
  }
  EXPECT_GE(checked, kRounds * 3 / 4);
}

TEST(Sparse, ProductsWithVectors) {
  Draw draw(45);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t rows = draw.between(0, 500), inner = draw.between(1, 150);
    const DType dtype = draw.one_of({f32, f64, bf16, f16});
    const DrawnPattern a = draw_pattern(draw, rows, inner);
    const auto vector = [](std::int64_t size) -> DrawnPattern {
      std::vector<std::int64_t> starts(static_cast<std::size_t>(size) + 1);
      std::iota(starts.begin(), starts.end(), 0);
      return {Tensor::zeros(i64, {size}), Tensor::of<std::int64_t>({size + 1}, starts)};
    };
    const DrawnPattern b = vector(inner), result = vector(rows);
    const std::int64_t count = draw.between(1, 4);
    check("csr_product",
          {draw.values(dtype, {draw.coin() ? 1 : count, a.columns.numel()}), a.columns,
           a.row_starts, draw.values(dtype, {count, inner}), b.columns, b.row_starts,
           result.columns, result.row_starts},
          0, [=](auto in) {
            return csr_product({in[0], in[1], in[2], inner}, {in[3], in[4], in[5], 1},
                               {{}, in[6], in[7], 0});
          });
  }
}

}  // namespace antichain::cpu::along_test
