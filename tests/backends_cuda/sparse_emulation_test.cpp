// The kernels of products of sparse matrices, run on the host, against the op.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/backends_cuda/emulated_block.h"
//
// What stands for element.cuh: elements that are computed as they are.
namespace antichain::device {

template <class T>
using Compute = T;
template <class T>
T load(T element) {
  return element;
}
template <class T>
T stored(T value) {
  return value;
}

}  // namespace antichain::device

#include "antichain/backends/cuda/device/sparse_product.cuh"
#include "antichain/ops/products/sparse.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"

namespace antichain {
namespace {

constexpr unsigned kThreads = 64, kBlocks = 2;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

struct Matrix {
  std::int64_t rows, num_columns;
  std::vector<std::int64_t> starts = {0}, columns = {};
};

// The pattern as kernels see it: by rows, or by columns with the place of every element.
template <class Index>
struct Pattern {
  std::vector<Index> starts, columns;
  std::vector<long long> places;

  Pattern(const Matrix& matrix, bool turned) {
    if (!turned) {
      starts.assign(matrix.starts.begin(), matrix.starts.end());
      columns.assign(matrix.columns.begin(), matrix.columns.end());
      return;
    }
    starts.push_back(0);
    for (std::int64_t column = 0; column < matrix.num_columns; ++column) {
      for (std::int64_t row = 0; row < matrix.rows; ++row) {
        for (std::int64_t i = matrix.starts[at(row)]; i < matrix.starts[at(row) + 1]; ++i) {
          if (matrix.columns[at(i)] == column) {
            columns.push_back(static_cast<Index>(row));
            places.push_back(i);
          }
        }
      }
      starts.push_back(static_cast<Index>(columns.size()));
    }
  }
  const long long* order() const { return places.empty() ? nullptr : places.data(); }
};

class SparseEmulation : public testing::Test {
 protected:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  // Rows have elements in any order, some of them twice.
  Matrix draw_matrix(std::int64_t rows, std::int64_t num_columns, std::int64_t most) {
    Matrix matrix{rows, num_columns};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t left = between(0, most); left > 0; --left) {
        matrix.columns.push_back(between(0, num_columns - 1));
      }
      matrix.starts.push_back(static_cast<std::int64_t>(matrix.columns.size()));
    }
    return matrix;
  }
  std::vector<double> draw_values(std::int64_t count) {
    std::vector<double> values(at(count));
    for (double& value : values) {
      value = static_cast<double>(between(-1000, 1000)) / 256;
    }
    return values;
  }

  template <bool kTurnedA, bool kTurnedB>
  void check();

 private:
  std::mt19937_64 generator_{5};
};

Tensor by_op(const Matrix& a, const Tensor& a_values, const Matrix& b, const Tensor& b_values,
             const Matrix& result, const CsrProductOptions& options) {
  Session session;
  Graph graph = session.graph();
  const auto matrix = [&](const Matrix& from, const Tensor& values) -> Csr {
    const auto indices = [&](const std::vector<std::int64_t>& numbers) {
      return constant(
          graph, Tensor::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers));
    };
    return {values.defined() ? constant(graph, values) : Var(), indices(from.columns),
            indices(from.starts), from.num_columns};
  };
  return session
      .compile(
          {csr_product(matrix(a, a_values), matrix(b, b_values), matrix(result, {}), options)})({})
      .tensors()[0];
}

template <bool kTurnedA, bool kTurnedB>
void SparseEmulation::check() {
  using IndexA = std::conditional_t<kTurnedA, long long, int>;
  using IndexB = std::conditional_t<kTurnedB, long long, int>;
  for (int round = 0; round < 6; ++round) {
    const std::int64_t rows = between(1, 9), inner = between(1, 17);
    const std::int64_t columns = round % 3 == 0 ? 1 : between(2, 90), count = between(1, 2);
    const Matrix a = kTurnedA ? draw_matrix(inner, rows, 9) : draw_matrix(rows, inner, 9),
                 b = kTurnedB ? draw_matrix(columns, inner, 70) : draw_matrix(inner, columns, 70),
                 result = draw_matrix(rows, columns, 40);
    const auto stored_a = static_cast<std::int64_t>(a.columns.size()),
               stored_b = static_cast<std::int64_t>(b.columns.size()),
               stored = static_cast<std::int64_t>(result.columns.size());
    const std::int64_t count_b = between(0, 1) == 0 ? 1 : count;
    const std::vector<double> a_values = draw_values(count * stored_a),
                              b_values = draw_values(count_b * stored_b);
    const Pattern<IndexA> rows_a(a, kTurnedA);
    const Pattern<IndexB> rows_b(b, kTurnedB);
    const Pattern<int> places(result, false);
    std::vector<double> whole(at(kBlocks * kThreads / 32 * columns), std::nan("")),
        out(at(count * stored), std::nan(""));
    const device::SparseProduct<double, int, IndexA, IndexB> product{count,
                                                                     rows,
                                                                     inner,
                                                                     columns,
                                                                     stored_a,
                                                                     stored_b,
                                                                     stored,
                                                                     stored_a,
                                                                     count_b == 1 ? 0 : stored_b,
                                                                     whole.data(),
                                                                     rows_a.starts.data(),
                                                                     rows_a.columns.data(),
                                                                     rows_a.order(),
                                                                     a_values.data(),
                                                                     rows_b.starts.data(),
                                                                     rows_b.columns.data(),
                                                                     rows_b.order(),
                                                                     b_values.data(),
                                                                     places.starts.data(),
                                                                     places.columns.data(),
                                                                     out.data()};
    gridDim.x = kBlocks;
    for (unsigned block = 0; block < kBlocks; ++block) {
      emulated::run_block({.threads = kThreads,
                           .block = block,
                           .schedule = round % 2 == 0 ? emulated::Schedule::first_warp_first
                                                      : emulated::Schedule::last_warp_first},
                          [&] {
                            columns == 1 ? device::multiply_vectors(product)
                                         : device::multiply_matrices(product);
                          });
    }
    const Tensor want = by_op(a, Tensor::of<double>({count, stored_a}, a_values), b,
                              Tensor::of<double>({count_b, stored_b}, b_values), result,
                              {.transpose_a = kTurnedA, .transpose_b = kTurnedB});
    conformance::expect_close(Tensor::of<double>({count, stored}, out), want, 1e-12,
                              "round " + std::to_string(round));
  }
}

TEST_F(SparseEmulation, Products) { check<false, false>(); }
TEST_F(SparseEmulation, FirstTurned) { check<true, false>(); }
TEST_F(SparseEmulation, SecondTurned) { check<false, true>(); }
TEST_F(SparseEmulation, BothTurned) { check<true, true>(); }

}  // namespace
}  // namespace antichain
