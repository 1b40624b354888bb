// Kernels at sizes that samples do not have, against the CPU; every run has the bits of the first.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/session/session.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::kernels_test {

using Vars = std::vector<Var>;
using Build = std::function<Vars(Graph&)>;
using Numbers = std::vector<std::int64_t>;

class CudaKernels : public GpuTest {};

// Small numbers that come more than once.
Numbers mixed(std::int64_t count, std::int64_t range, std::int64_t low = 0) {
  Numbers numbers;
  std::uint64_t state = 12345;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    numbers.push_back(static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(range)) +
                      low);
  }
  return numbers;
}

Tensor mixed_tensor(DType dtype, const Shape& shape, std::int64_t range = 100) {
  const bool is_signed = dtype != u8;
  return Tensor::of(shape, mixed(numel(shape), range, is_signed ? -range / 2 : 0)).cast(dtype);
}

std::vector<Tensor> run_on(const std::string& device, const Build& build, const Feeds& feeds) {
  Session session({.device = device, .seed = 5});
  Graph graph = session.graph();
  const Executable run = session.compile(build(graph));
  const std::vector<Tensor> first = run(feeds).tensors();
  // The second run is recorded, the third is a replay of it.
  for (int again = 0; device != "cpu" && again < 2; ++again) {
    const std::vector<Tensor> other = run(feeds).tensors();
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(bit_equal(first[i], other[i])) << "run " << again + 2 << ", output " << i;
    }
  }
  return first;
}

void expect_like_cpu(const Build& build, const Feeds& feeds, double tolerance = 0) {
  const std::vector<Tensor> want = run_on("cpu", build, feeds), got = run_on("cuda", build, feeds);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].shape(), got[i].shape()) << i;
    const std::vector<double> a = want[i].to_vector<double>(), b = got[i].to_vector<double>();
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < a.size(); ++n) {
      const bool is_same = a[n] == b[n] || (std::isnan(a[n]) && std::isnan(b[n])) ||
                           std::abs(a[n] - b[n]) <= tolerance * (1 + std::abs(a[n]));
      wrong += is_same ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U) << "of output " << i;
  }
}

TEST_F(CudaKernels, LongLinesAreSorted) {
  for (const DType dtype : {f32, f64, bf16, f16, i64, i32, i8, u8}) {
    SCOPED_TRACE(std::string(name(dtype)));
    for (const Shape& shape : {Shape{3, 5003, 1}, Shape{2, 2003, 3}, Shape{1, 40'009, 1}}) {
      Tensor x = mixed_tensor(dtype, shape);
      if (is_float(dtype)) {
        Tensor wide = x.cast(f32);
        wide.data<float>()[7] = wide.data<float>()[1000] = std::nanf("");
        wide.data<float>()[8] = -0.F;
        wide.data<float>()[9] = std::numeric_limits<float>::infinity();
        wide.data<float>()[10] = -std::numeric_limits<float>::infinity();
        x = wide.cast(dtype);
      }
      const auto build = [&](Graph& graph) {
        const Var in = graph.input("x", dtype, {shape.begin(), shape.end()});
        const Sorted up = sort(in, 1), down = sort(in, 1, true), best = top_k(in, 11, 1);
        return Vars{up.values, up.indices, down.values, down.indices, best.values, best.indices};
      };
      expect_like_cpu(build, {{"x", x}});
    }
  }
}

TEST_F(CudaKernels, PermutationsAreThoseOfTheCpu) {
  // Every run draws another one.
  const auto three_runs_on = [](const std::string& device) {
    Session session({.device = device, .seed = 5});
    Graph graph = session.graph();
    const Executable run = session.compile({random_permutation(graph, 50'021)});
    return std::vector<Tensor>{run({})[0], run({})[0], run({})[0]};
  };
  const std::vector<Tensor> cpu = three_runs_on("cpu"), gpu = three_runs_on("cuda");
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_TRUE(bit_equal(cpu[i], gpu[i])) << i;
  }
  EXPECT_FALSE(bit_equal(gpu[0], gpu[1]));
}

TEST_F(CudaKernels, ManyUpdatesAreAddedInOrder) {
  const Tensor at = Tensor::of({5000}, mixed(5000, 301));
  const Tensor each = Tensor::of({4, 2000, 3}, mixed(4 * 2000 * 3, 50));
  for (const DType dtype : {f32, f64, bf16, f16, i32, i8}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const auto build = [&](Graph& graph) {
      const Var x = graph.input("x", dtype, {2, 301, 7});
      const Var updates = graph.input("updates", dtype, {2, 5000, 7});
      const Var rows = scatter_add(x, graph.input("at", i64, {5000}), updates, 1);
      const Var fixed = scatter_add(x, constant(graph, at), updates, 1);
      const Var along = scatter_add_along(graph.input("y", dtype, {4, 50, 3}),
                                          graph.input("each", i64, {4, 2000, 3}),
                                          graph.input("more", dtype, {4, 2000, 3}), 1);
      return Vars{rows, fixed, along};
    };
    expect_like_cpu(build,
                    {{"x", mixed_tensor(dtype, {2, 301, 7})},
                     {"at", at},
                     {"updates", mixed_tensor(dtype, {2, 5000, 7})},
                     {"y", mixed_tensor(dtype, {4, 50, 3})},
                     {"each", each},
                     {"more", mixed_tensor(dtype, {4, 2000, 3})}},
                    is_float(dtype) ? 0.01 : 0);
  }
}

TEST_F(CudaKernels, FewUpdatesLeaveTheRestAsItIs) {
  for (const DType dtype : {f32, bf16, i32}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const auto build = [&](Graph& graph) {
      const Var x = graph.input("x", dtype, {2, 30'011, 3}), at = graph.input("at", i64, {5000});
      const Var updates = graph.input("updates", dtype, {2, 5000, 3});
      const Var once = scatter_add(x, at, updates, 1);
      return Vars{
          once, scatter_add(x + x, at, updates, 1),
          scatter_add(zeros(graph, dtype, {90'000}), at, graph.input("few", dtype, {5000}))};
    };
    Numbers at = mixed(5000, 30'011);
    std::fill(at.begin() + 100, at.begin() + 400, at[7]);
    expect_like_cpu(build,
                    {{"x", mixed_tensor(dtype, {2, 30'011, 3})},
                     {"at", Tensor::of({5000}, at)},
                     {"updates", mixed_tensor(dtype, {2, 5000, 3})},
                     {"few", mixed_tensor(dtype, {5000})}},
                    is_float(dtype) ? 0.01 : 0);
  }
}

TEST_F(CudaKernels, LongLinesAreSearchedAndSummed) {
  for (const DType dtype : {f32, bf16, i32}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const auto build = [dtype](Graph& graph) {
      const Var line = graph.input("line", dtype, {2, 30'011});
      const Var columns = graph.input("columns", dtype, {3, 1001, 37});
      return Vars{argmax(line, 1),    argmin(line, 1),
                  argmax(columns, 1), argmin(columns, 1),
                  cumsum(line, 1),    cumsum(line, 1, {.exclusive = true, .reverse = true}),
                  cumsum(columns, 1), argmax(columns, 0)};
    };
    Tensor line = mixed_tensor(f32, {2, 30'011});
    line.data<float>()[20'000] = dtype == i32 ? 0 : std::nanf("");
    // A sum that a NaN has reached is one.
    expect_like_cpu(
        build, {{"line", line.cast(dtype)}, {"columns", mixed_tensor(dtype, {3, 1001, 37}, 10)}},
        is_float(dtype) ? 0.01 : 0);
  }
}

TEST_F(CudaKernels, ElementsAreFound) {
  const auto build = [](Graph& graph) {
    return Vars{nonzero(graph.input("x", i32, {7, 10'007})),
                nonzero(graph.input("none", boolean, {5000}))};
  };
  expect_like_cpu(
      build, {{"x", mixed_tensor(i32, {7, 10'007}, 3)}, {"none", Tensor::zeros(boolean, {5000})}});
}

TEST_F(CudaKernels, LargeIntegersAreMultiplied) {
  for (const DType dtype : {i8, u8, i32, i64}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const auto build = [dtype](Graph& graph) {
      const Var a = graph.input("a", dtype, {2, 1, 70, 33}),
                b = graph.input("b", dtype, {3, 33, 50});
      const Var c = graph.input("c", dtype, {3, 70, 50});
      return Vars{matmul(a, b), matmul(a, c, {true, false}), matmul(c, b, {false, true})};
    };
    expect_like_cpu(build, {{"a", mixed_tensor(dtype, {2, 1, 70, 33})},
                            {"b", mixed_tensor(dtype, {3, 33, 50})},
                            {"c", mixed_tensor(dtype, {3, 70, 50})}});
  }
}

TEST_F(CudaKernels, CountsAreMade) {
  expect_like_cpu(
      [](Graph& graph) {
        return Vars{iota(graph, i64, 5003), iota(graph, f16, 2003)};
      },
      {});
}

// A matrix with rows of very different lengths, in no order and with elements that come twice.
struct Matrix {
  std::int64_t rows = 301, num_columns = 203;
  Numbers row_starts = {0}, columns;

  Matrix() {
    const Numbers lengths = mixed(rows, 20);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t length = row == 17 ? 2000 : lengths[static_cast<std::size_t>(row)];
      row_starts.push_back(row_starts.back() + length);
    }
    columns = mixed(row_starts.back(), num_columns);
  }
  Tensor starts(DType dtype) const { return Tensor::of({rows + 1}, row_starts).cast(dtype); }
  Tensor at(DType dtype) const {
    return Tensor::of({static_cast<std::int64_t>(columns.size())}, columns).cast(dtype);
  }
};

TEST_F(CudaKernels, SparseProducts) {
  const Matrix matrix;
  const auto stored = static_cast<std::int64_t>(matrix.columns.size());
  for (const DType index : {i32, i64}) {
    for (const DType dtype : {f32, f64, bf16}) {
      for (const bool fixed : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name(index), name(dtype), fixed));
        const auto build = [&](Graph& graph) {
          Csr sparse{.values = graph.input("values", dtype, {stored}),
                     .columns = graph.input("columns", index, {stored}),
                     .row_starts = graph.input("starts", index, {matrix.rows + 1}),
                     .num_columns = matrix.num_columns};
          if (fixed) {
            sparse.columns = constant(graph, matrix.at(index));
            sparse.row_starts = constant(graph, matrix.starts(index));
          }
          const Var a = graph.input("a", dtype, {matrix.rows, 7});
          const Var b = graph.input("b", dtype, {matrix.num_columns, 7});
          const Var wide = graph.input("wide", dtype, {matrix.rows, 130});
          return Vars{csr_matmul(sparse, b), csr_matmul(sparse, a, true),
                      csr_matmul(sparse, wide, true), csr_sampled_matmul(sparse, a, b)};
        };
        Feeds feeds = {{"values", mixed_tensor(dtype, {stored})},
                       {"a", mixed_tensor(dtype, {matrix.rows, 7})},
                       {"b", mixed_tensor(dtype, {matrix.num_columns, 7})},
                       {"wide", mixed_tensor(dtype, {matrix.rows, 130})}};
        if (!fixed) {
          feeds["columns"] = matrix.at(index);
          feeds["starts"] = matrix.starts(index);
        }
        expect_like_cpu(build, feeds, dtype == bf16 ? 0.01 : 0);
      }
    }
  }
}

// [301, 203] by [203, 301], either of them turned or not, at the stored positions of a third; and
// by vectors, one per matrix of a batch.
TEST_F(CudaKernels, ProductsOfSparseMatrices) {
  const Matrix matrix;
  const auto stored = static_cast<std::int64_t>(matrix.columns.size());
  constexpr std::int64_t kCount = 3;
  for (const DType index : {i32, i64}) {
    for (const DType dtype : {f32, f64, bf16}) {
      for (const bool fixed : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name(index), name(dtype), fixed));
        const auto build = [&](Graph& graph) {
          const auto pattern = [&](Var values) -> Csr {
            return {values, graph.input("columns", index, {stored}),
                    graph.input("starts", index, {matrix.rows + 1}), matrix.num_columns};
          };
          const auto constant_pattern = [&](Var values) -> Csr {
            return {values, constant(graph, matrix.at(index)),
                    constant(graph, matrix.starts(index)), matrix.num_columns};
          };
          const Csr known = constant_pattern(graph.input("once", dtype, {1, stored}));
          const Csr batch = fixed ? constant_pattern(graph.input("values", dtype, {kCount, stored}))
                                  : pattern(graph.input("values", dtype, {kCount, stored}));
          // Rows of the results are those of the matrix, or as many as it has columns.
          const Csr wide{{}, known.columns, known.row_starts, matrix.rows};
          const auto vectors = [&](Var values, std::int64_t size) -> Csr {
            return {values, zeros(graph, index, {size}), iota(graph, index, size + 1), 1};
          };
          const Var x = graph.input("x", dtype, {kCount, matrix.num_columns}),
                    y = graph.input("y", dtype, {kCount, matrix.rows});
          const Var across = csr_product(batch, known, wide, {.transpose_b = true});
          return Vars{
              across,
              csr_product(known,
                          {batch.values, batch.columns, batch.row_starts, matrix.num_columns},
                          {{},
                           zeros(graph, index, {matrix.num_columns}),
                           iota(graph, index, matrix.num_columns + 1),
                           0},
                          {.transpose_a = true}),
              csr_product(batch, vectors(x, matrix.num_columns), vectors({}, matrix.rows)),
              csr_product(batch, vectors(y, matrix.rows), vectors({}, matrix.num_columns),
                          {.transpose_a = true})};
        };
        Feeds feeds = {{"values", mixed_tensor(dtype, {kCount, stored})},
                       {"once", mixed_tensor(dtype, {1, stored})},
                       {"x", mixed_tensor(dtype, {kCount, matrix.num_columns})},
                       {"y", mixed_tensor(dtype, {kCount, matrix.rows})}};
        if (!fixed) {
          feeds["columns"] = matrix.at(index);
          feeds["starts"] = matrix.starts(index);
        }
        expect_like_cpu(build, feeds, dtype == bf16 ? 0.01 : 1e-6);
      }
    }
  }
}

// Runs on the GPU and returns what it complains about.
std::string complaint(const Executable& run, const Feeds& feeds) {
  try {
    run(feeds);
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

TEST_F(CudaKernels, BrokenPatternsAreNamed) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Csr sparse{.values = graph.input("values", f32, {3}),
                   .columns = graph.input("columns", i64, {3}),
                   .row_starts = graph.input("starts", i64, {3}),
                   .num_columns = 4};
  const Executable run = session.compile({csr_matmul(sparse, graph.input("x", f32, {2, 5}), true)});
  const auto with = [&](const Numbers& columns, const Numbers& starts) {
    return complaint(run, {{"values", Tensor::full(f32, {3}, 1)},
                           {"columns", Tensor::of({3}, columns)},
                           {"starts", Tensor::of({3}, starts)},
                           {"x", Tensor::full(f32, {2, 5}, 1)}});
  };
  const auto expect_words = [](const std::string& said, const std::string& words) {
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  EXPECT_EQ(with({0, 1, 3}, {0, 2, 3}), "");
  expect_words(with({0, 4, 3}, {0, 2, 3}), "stored element 1 is in column 4, outside [0, 4)");
  expect_words(with({0, 1, -3}, {0, 2, 3}), "stored element 2 is in column -3, outside [0, 4)");
  expect_words(with({0, 1, 3}, {0, 4, 3}), "row_starts must not decrease, but 3 follows 4");
  expect_words(with({0, 1, 3}, {1, 2, 3}),
               "row_starts must go from 0 to the number of stored elements, 3, but it goes from 1");
  EXPECT_EQ(with({0, 1, 3}, {0, 2, 3}), "");
}

TEST_F(CudaKernels, BrokenConstantsAreNamedInEveryRun) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Csr sparse{.values = graph.input("values", f32, {2}),
                   .columns = constant(graph, Tensor::of<std::int64_t>({2}, {0, 9})),
                   .row_starts = constant(graph, Tensor::of<std::int64_t>({3}, {0, 1, 2})),
                   .num_columns = 4};
  const Executable run = session.compile({csr_matmul(sparse, graph.input("x", f32, {4, 5}))});
  for (int i = 0; i < 3; ++i) {
    const std::string said = complaint(
        run, {{"values", Tensor::full(f32, {2}, 1)}, {"x", Tensor::full(f32, {4, 5}, 1)}});
    EXPECT_NE(said.find("stored element 1 is in column 9, outside [0, 4)"), std::string::npos)
        << said;
  }
}

TEST_F(CudaKernels, WhatIsNotFiniteIsNamed) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Executable run =
      session.compile({assert_finite(graph.input("x", f32, {300, 700}), "after {log}") * 2});
  Tensor x = Tensor::full(f32, {300, 700}, 1);
  EXPECT_EQ(complaint(run, {{"x", x}}), "");
  x.data<float>()[700 * 200 + 3] = std::nanf("");
  x.data<float>()[700 * 20 + 5] = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < 3; ++i) {
    const std::string said = complaint(run, {{"x", x}});
    EXPECT_NE(said.find("after {log}: the element at [20, 5] is -inf"), std::string::npos) << said;
  }
}

}  // namespace antichain::kernels_test
