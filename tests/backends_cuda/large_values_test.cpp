// Kernels at sizes that samples do not have: many blocks, runs of elements, replayed recordings.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/backends_cuda/long_wave.h"
#include "tests/backends_cuda/replayed_runs.h"

namespace antichain::large_values_test {

class CudaLargeValues : public GpuTest {};

void expect_same(const Tensor& x, const Build& build, double tolerance) {
  const std::vector<Tensor> cpu = results_on("cpu", x, build), gpu = results_on("cuda", x, build);
  for (std::size_t n = 0; n < cpu.size(); ++n) {
    SCOPED_TRACE("result " + std::to_string(n));
    const std::vector<double> a = cpu[n].cast(f64).to_vector<double>();
    const std::vector<double> b = gpu[n].cast(f64).to_vector<double>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(a[i]))) << i;
    }
  }
}

TEST_F(CudaLargeValues, Reductions) {
  const auto all = [](Var x) -> std::vector<Var> {
    return {sum(x),      mean(x, {0}),    max(x, {1}),          min(x),
            sum(x, {0}), mean(x, {1}),    sum(x, {0}, true),    prod(1 + x * 1e-4, {1}),
            sum(x * x),  sum(x * x, {1}), mean(square(x), {0}), max(abs(x), {0})};
  };
  for (const Shape& shape : {Shape{3, 500'001}, Shape{70'001, 17}, Shape{2048, 512},
                             Shape{100'000, 3}, Shape{5, 200'000}, Shape{1'000'003, 1}}) {
    SCOPED_TRACE(to_string(shape));
    expect_same(long_wave(shape), all, 1e-4);
  }
  expect_same(long_wave({3, 500'001}, bf16), all, 2e-2);
  expect_same(long_wave({70'001, 17}, f64), all, 1e-12);
  expect_same(
      long_wave({3000, 701}),
      [](Var x) -> std::vector<Var> {
        const Var n = cast(x * 1000, i64);
        return {sum(n), sum(n, {0}), max(n, {1}), sum(n * 3 + 1)};
      },
      0);
}

TEST_F(CudaLargeValues, LongRowsThatBecomeNumbers) {
  for (const std::int64_t rows : {1, 2, 37}) {
    expect_same(
        long_wave({rows, 300'007}),
        [](Var x) -> std::vector<Var> {
          return {sqrt(mean(square(x), {1}, true)) + max(x, {1}, true), sum(abs(x) + 1, {1}, true)};
        },
        1e-5);
  }
}

TEST_F(CudaLargeValues, RunsOfElements) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    for (const Shape& shape :
         {Shape{1024, 512}, Shape{1024, 513}, Shape{700'001}, Shape{8, 262'144}}) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(shape));
      const auto body = [&](Var x) -> std::vector<Var> {
        const std::int64_t columns = shape.back();
        const Var bias = cast(iota(x.graph(), f32, columns) / 1e5, x.dtype());
        const Var scaled = relu(x * 2 + bias);
        // Views that begin in the middle of a run.
        const Var rest = slice(x, {{.axis = x.rank() - 1, .start = 1}});
        return {scaled, greater(scaled, 1), rest * 3 + 1};
      };
      expect_same(long_wave(shape, dtype), body, dtype == bf16 ? 2e-2 : 2e-3);
    }
  }
}

// Bias and relu by the library, and others by a generated kernel.
TEST_F(CudaLargeValues, FusedProducts) {
  for (const DType dtype : {f32, bf16}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const auto layers = [](Var x) -> std::vector<Var> {
      Graph& graph = x.graph();
      const Var w = cast(reshape(sin(iota(graph, f32, 300 * 96)) * 0.05, {300, 96}), x.dtype());
      const Var bias = cast(iota(graph, f32, 96) / 50.0 - 1.0, x.dtype());
      return {matmul(x, w) + bias, relu(matmul(x * 2, w) + bias), relu(matmul(x * 3, w)),
              gelu(matmul(x * 4, w) + bias), cast(matmul(x * 5, w), f64) * 2};
    };
    expect_same(long_wave({500, 300}, dtype), layers, dtype == bf16 ? 4e-2 : 1e-4);
  }
}

TEST_F(CudaLargeValues, NotANumberStaysThroughRelu) {
  Tensor x = long_wave({64, 128});
  x.data<float>()[5 * 128 + 7] = std::numeric_limits<float>::quiet_NaN();
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var input = graph.input("x", f32, {64, 128});
  const Var w = graph.input("w", f32, {128, 32}), bias = graph.input("bias", f32, {32});
  const Executable run =
      session.compile({relu(matmul(input, w) + bias), relu(matmul(input, w * 2))});
  const Results results = run({{"x", x}, {"w", long_wave({128, 32})}, {"bias", long_wave({32})}});
  EXPECT_TRUE(std::isnan(results[0].to_vector<float>()[5 * 32 + 3]));
  EXPECT_TRUE(std::isnan(results[1].to_vector<float>()[5 * 32 + 3]));
}

StateStore::Values trained(const std::vector<std::string>& disabled, DType dtype) {
  Session session({.device = "cuda", .seed = 3});
  Graph graph = session.graph();
  const Var x = graph.input("x", dtype, {"batch", 20});
  std::vector<std::int64_t> widths(40, 24);  // more parameters than one launch takes
  const Var loss = mean(cast(square(nn::mlp(x, widths, {.activation = tanh})), f32));
  const Executable step = session.compile(
      {loss}, {.updates = optim::adam(loss, {.lr = 0.003}), .compiler = {.disabled = disabled}});
  for (int i = 0; i < 5; ++i) {
    step({{"x", long_wave({50, 20}, dtype)}});
  }
  return session.states().all();
}

TEST_F(CudaLargeValues, UpdatesTogetherHaveTheBitsOfUpdatesAlone) {
  for (const DType dtype : {f32, bf16}) {
    const StateStore::Values together = trained({}, dtype);
    for (const std::string pass : {"batch-updates", "batch-casts"}) {
      const StateStore::Values alone = trained({pass}, dtype);
      ASSERT_EQ(together.size(), alone.size());
      for (const auto& [state, value] : alone) {
        EXPECT_TRUE(bit_equal(value, together.at(state))) << pass << " " << state;
      }
    }
  }
}

}  // namespace antichain::large_values_test
