// Reductions of rows and columns of all lengths, against the CPU; every run has the bits of the
// first.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/backends_cuda/replayed_runs.h"

namespace antichain::reductions_test {

using Vars = std::vector<Var>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class CudaReductions : public GpuTest {};

Tensor wave(const Shape& shape, DType dtype) {
  Tensor result = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = 2 * std::sin(0.37F * static_cast<float>(i % 10'007) + 0.2F);
  }
  return result.cast(dtype);
}

// What rounding to a type leaves of a few steps.
double tolerance_of(DType dtype) {
  return dtype == f64 ? 1e-12 : dtype == f32 ? 2e-5 : dtype == f16 ? 6e-3 : 4e-2;
}

void expect_like_cpu(const Tensor& x, const Build& build) {
  const std::vector<Tensor> cpu = results_on("cpu", x, build), gpu = results_on("cuda", x, build);
  for (std::size_t n = 0; n < cpu.size(); ++n) {
    SCOPED_TRACE("result " + std::to_string(n));
    ASSERT_EQ(cpu[n].shape(), gpu[n].shape());
    const std::vector<double> a = cpu[n].cast(f64).to_vector<double>();
    const std::vector<double> b = gpu[n].cast(f64).to_vector<double>();
    const double tolerance = tolerance_of(x.dtype());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool is_same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                           std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(a[i]));
      ASSERT_TRUE(is_same) << a[i] << " and " << b[i] << " at " << i;
    }
  }
}

// Several rounds of reductions, results of elements and of rows, values that several walks read.
// What a softmax has is small where rows are long.
Vars of_rows(Var x) {
  const std::int64_t axis = x.rank() - 1;
  const Var length = cast(dim_value(x.graph(), x.dim(static_cast<int>(axis))), x.dtype());
  const Var centred = x - mean(x, {axis}, true);
  const Var spread = mean(square(centred), {axis}, true);
  return {softmax(x) * length, centred * rsqrt(spread + 0.1), log(spread + 1),
          max(-x, {axis}, true)};
}

TEST_F(CudaReductions, RowsOfAllLengths) {
  for (const DType dtype : {f32, bf16}) {
    for (const std::int64_t length :
         {1, 2, 31, 32, 33, 511, 512, 513, 1000, 1024, 1025, 4096, 5000, 100'000}) {
      SCOPED_TRACE(std::string(name(dtype)) + ", length " + std::to_string(length));
      expect_like_cpu(wave({length > 10'000 ? 3 : 37, length}, dtype), of_rows);
    }
  }
}

TEST_F(CudaReductions, RowsOfOtherTypes) {
  for (const DType dtype : {f64, f16}) {
    const std::int64_t longest = dtype == f16 ? 20'000 : 100'000;  // f16 ends at 65,504
    for (const std::int64_t length : {std::int64_t{1}, std::int64_t{33}, std::int64_t{512},
                                      std::int64_t{1025}, std::int64_t{5000}, longest}) {
      SCOPED_TRACE(std::string(name(dtype)) + ", length " + std::to_string(length));
      expect_like_cpu(wave({length > 10'000 ? 3 : 37, length}, dtype), of_rows);
    }
  }
}

// More rows than one wave of blocks, and numbers of rows that leave a block half empty.
TEST_F(CudaReductions, ManyRows) {
  expect_like_cpu(wave({70'001, 10}, f32), of_rows);
  expect_like_cpu(wave({30'003, 64}, bf16), of_rows);
  expect_like_cpu(wave({5, 0}, f32), [](Var x) -> Vars {
    return {sum(x * 2, {1}, true) + 1, sum(x, {1}), sum(x, {0}), prod(x)};
  });
}

// Views that begin in the middle of a run, whose rows do so, too, and ones whose elements lie
// apart.
TEST_F(CudaReductions, RowsOfViews) {
  for (const DType dtype : {f32, bf16, f64}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const auto behind_one = [](Var x) {
      const Var rows = reshape(slice(x, {{.axis = 0, .start = 1}}), {24, 512});
      Vars all = of_rows(rows);
      all.push_back(sum(rows, {1}));
      all.push_back(sum(rows, {0}));
      return all;
    };
    expect_like_cpu(wave({24 * 512 + 1}, dtype), behind_one);
    expect_like_cpu(wave({24, 520}, dtype), [](Var x) {
      return of_rows(slice(x, {{.axis = 1, .start = 3, .stop = 515}}));
    });
    expect_like_cpu(wave({96, 40}, dtype), [](Var x) { return of_rows(transpose(x, {1, 0})); });
  }
}

// Rows of two axes, with inputs that are repeated along one of them.
TEST_F(CudaReductions, RowsOfTwoAxes) {
  for (const DType dtype : {f32, bf16}) {
    expect_like_cpu(wave({9, 16, 24}, dtype), [](Var x) -> Vars {
      Graph& graph = x.graph();
      const Var bias = cast(iota(graph, f32, 24) / 24.0, x.dtype());
      const Var scale = cast(reshape(iota(graph, f32, 16) / 16.0, {16, 1}), x.dtype());
      const Var shifted = x * scale + bias;
      return {shifted - mean(shifted, {1, 2}, true), max(shifted, {1, 2}, true)};
    });
  }
}

TEST_F(CudaReductions, RowsWithoutAWeight) {
  for (const DType dtype : {f32, bf16, f16, f64}) {
    for (const std::int64_t length : {33, 512, 4096, 40'000}) {
      SCOPED_TRACE(std::string(name(dtype)) + ", length " + std::to_string(length));
      Tensor x = wave({4, length}, f64);
      for (std::int64_t i = 0; i < length; ++i) {
        x.data<double>()[i] = i % 3 == 0 ? x.data<double>()[i] : -kInfinity;
        x.data<double>()[length + i] = i == 7 ? 1 : -kInfinity;
        x.data<double>()[2 * length + i] = -kInfinity;  // NaN everywhere
      }
      x.data<double>()[3 * length + 5] = std::nan("");
      expect_like_cpu(x.cast(dtype), [length](Var in) -> Vars {
        return {softmax(in) * static_cast<double>(length), max(in, {1}), min(in, {1})};
      });
    }
  }
}

TEST_F(CudaReductions, ColumnsOfAllSizes) {
  for (const DType dtype : {f32, bf16, i32}) {
    for (const Shape& shape : {Shape{128, 512}, Shape{128, 10}, Shape{5, 3}, Shape{65'536, 64},
                               Shape{20'011, 63}, Shape{3000, 1026}, Shape{2, 100'003},
                               Shape{300'000, 2}, Shape{16'384, 8}, Shape{1, 700}}) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(shape));
      expect_like_cpu(wave(shape, dtype), [](Var x) -> Vars {
        const Var total = is_float(x.dtype()) ? mean(x, {0}) : sum(x, {0});
        return {total, max(x, {0}), min(x, {0})};
      });
    }
  }
}

TEST_F(CudaReductions, LinesOfAllSizes) {
  for (const DType dtype : {f32, bf16, f64}) {
    for (const Shape& shape : {Shape{1, 128}, Shape{1, 1}, Shape{7, 33}, Shape{1, 1'000'003},
                               Shape{1, 1 << 20}, Shape{20'000, 64}, Shape{5000, 511}}) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(shape));
      expect_like_cpu(wave(shape, dtype), [](Var x) -> Vars {
        return {mean(x, {1}), max(x, {1}), min(x)};
      });
    }
    expect_like_cpu(wave({6, 32, 12, 20}, dtype),  // channels in the middle
                    [](Var x) -> Vars {
                      return {mean(x, {0, 2, 3}), max(x, {1, 3})};
                    });
  }
}

// Adding up in float alone would be wrong by a percent.
TEST_F(CudaReductions, LongSumsLoseNoDigits) {
  const Tensor tenths = Tensor::full(f32, {1'000'000}, 0.1);
  const auto build = [](Var x) -> Vars {
    const Var tall = reshape(x, {250'000, 4}), wide = reshape(x, {4, 250'000});
    const Var medium = reshape(x, {200, 5000}), odd = reshape(x, {64, 15'625});
    return {sum(x),
            sum(tall, {0}),
            sum(wide, {1}),
            sum(medium, {1}),
            sum(wide * 2, {1}, true) + 1,
            wide - sum(wide, {1}, true),
            medium - sum(medium, {1}, true),
            odd - sum(odd, {1}, true)};
  };
  const double each = static_cast<double>(0.1F);
  const std::vector<double> want = {1e6 * each,        250e3 * each,         250e3 * each,
                                    5e3 * each,        250e3 * each * 2 + 1, each - 250e3 * each,
                                    each - 5e3 * each, each - 15'625 * each};
  const std::vector<Tensor> found = results_on("cuda", tenths, build);
  for (std::size_t n = 0; n < want.size(); ++n) {
    for (const double value : found[n].cast(f64).to_vector<double>()) {
      ASSERT_NEAR(value, want[n], 1e-6 * std::abs(want[n])) << n;
    }
  }
}

}  // namespace antichain::reductions_test
