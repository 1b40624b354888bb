// Products of matrices that begin anywhere: at views, and inside of stacks of odd sizes.
#include <gtest/gtest.h>

#include "antichain/antichain.h"
#include "antichain/backends/cuda/cuda_backend.h"
#include "antichain/backends/cuda/products/blas_product.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::product_test {

class CudaProduct : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (const std::string reason = missing_gpu(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

Tensor waves(const Shape& shape) {
  Tensor values = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.data<float>()[i] = static_cast<float>(i % 13 - 6) / 4;  // exact in every type
  }
  return values;
}

void expect_near(const Tensor& a, const Tensor& b, double error) {
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(x[i], y[i], error * (1 + std::abs(x[i]))) << i;
  }
}

// Half a unit in the last place, and some for sums in another order.
double error_of(DType dtype) { return dtype == bf16 ? 1e-2 : dtype == f16 ? 2e-3 : 1e-5; }

// Every operand in turn, and all of them, one element behind an aligned address.
TEST_P(CudaProduct, OperandsMayBeginAnywhere) {
  const DType dtype = GetParam();
  const cuda::Context context = cuda::shared_context(0);
  const auto library = std::make_shared<const cuda::BlasLibrary>(context, false);
  const std::unique_ptr<Backend> backend = make_cuda_backend(0);
  constexpr std::int64_t kRows = 64, kInner = 128, kColumns = 96;
  for (const bool has_bias : {false, true}) {
    if (has_bias && dtype == f64) {
      continue;  // the library adds none
    }
    cuda::BlasProduct product(library, {.dtype = dtype,
                                        .rows = kRows,
                                        .columns = kColumns,
                                        .inner = kInner,
                                        .bias = has_bias,
                                        .relu = has_bias});
    ASSERT_TRUE(product.is_possible());
    const auto placed = [&](const Shape& shape, bool shifted) {
      const Tensor all = backend->allocate(dtype, {numel(shape) + 1});
      const Tensor view(dtype, shape, contiguous_strides(shape), shifted ? 1 : 0, all.buffer());
      backend->copy(view, waves(shape).cast(dtype));
      return view;
    };
    std::optional<Tensor> aligned;
    for (const int shifted : {0, 1, 2, 4, 8, 15}) {
      const Tensor a = placed({kRows, kInner}, shifted & 1);
      const Tensor b = placed({kInner, kColumns}, shifted & 2);
      const Tensor out = placed({kRows, kColumns}, shifted & 4);
      const Tensor bias = placed({kColumns}, shifted & 8);
      {
        const auto held = context->hold();
        product.run(a.raw(), b.raw(), out.raw(), has_bias ? bias.raw() : nullptr);
      }
      const Tensor result = backend->to_host(out).clone();
      aligned = aligned ? aligned : result;
      expect_near(*aligned, result, error_of(dtype));
    }
  }
}

TEST_P(CudaProduct, ViewsAreMultiplied) {
  const DType dtype = GetParam();
  const auto results = [dtype](const std::string& device) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Var x = cast(graph.input("x", f32, {1 + 33 * 40}), dtype);
    const Var y = cast(graph.input("y", f32, {3 + 40 * 24}), dtype);
    const Var z = cast(graph.input("z", f32, {1 + 24}), dtype);
    const Var a = reshape(slice(x, {{0, 1, 1 + 33 * 40}}), {33, 40});
    const Var b = reshape(slice(y, {{0, 3, 3 + 40 * 24}}), {40, 24});
    const Var bias = slice(z, {{0, 1, 25}});
    // Matrices of 5 by 7 elements, one after the other, of which every second begins at an odd one.
    const Var many = reshape(slice(x, {{0, 0, 6 * 35}}), {2, 3, 5, 7});
    const Var few = reshape(slice(y, {{0, 0, 2 * 21}}), {2, 1, 7, 3});
    const Executable run =
        session.compile({cast(matmul(a, b), f32), cast(relu(matmul(a, b) + bias), f32),
                         cast(matmul(many, few), f32)});
    return run({{"x", waves({1 + 33 * 40})}, {"y", waves({3 + 40 * 24})}, {"z", waves({25})}})
        .tensors();
  };
  const std::vector<Tensor> cpu = results("cpu"), gpu = results("cuda");
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    expect_near(cpu[i], gpu[i], error_of(dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaProduct, testing::Values(f32, f64, bf16, f16),
                         [](const auto& instance) { return std::string(name(instance.param)); });

}  // namespace antichain::product_test
