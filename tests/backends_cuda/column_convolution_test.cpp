// Convolutions as products of columns, against the CPU's, for windows of every kind.
#include "antichain/backends/cuda/convolution/column_convolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antichain/antichain.h"
#include "antichain/backends/cuda/cuda_backend.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::column_convolution_test {

struct Case {
  const char* label;
  Shape x, weight;
  Ints stride, padding, dilation;
};

const Case kCases[] = {
    {"padded", {4, 3, 9, 7}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"stride", {6, 4, 16, 16}, {8, 4, 3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"uneven", {5, 2, 11, 8}, {3, 2, 2, 4}, {3, 1}, {0, 2}, {2, 1}},
    {"positions that no window sees", {3, 2, 10, 10}, {4, 2, 1, 1}, {3, 3}, {0, 0}, {1, 1}},
    {"one to one", {4, 6, 5, 5}, {7, 6, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one sample", {1, 3, 12, 12}, {130, 3, 5, 5}, {1, 1}, {2, 2}, {1, 1}},
    {"samples side by side", {8, 16, 4, 4}, {300, 16, 4, 4}, {1, 1}, {2, 1}, {1, 1}},
    {"volume", {2, 3, 4, 5, 6}, {4, 3, 2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}},
};

class CudaColumns : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string reason = missing_gpu(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

Tensor wave(const Shape& shape, double phase) {
  Tensor result = Tensor::empty(f64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<double>()[i] = std::sin(0.37 * static_cast<double>(i) + phase);
  }
  return result;
}

// The convolution, x's gradient and the weight's, by the CPU in f64; the gradient of the output is
// the last.
std::vector<Tensor> wanted(const Case& c, const Tensor& x, const Tensor& weight) {
  Session session;
  Graph graph = session.graph();
  const Var a = graph.input("x", f64, std::vector<DimSpec>(c.x.begin(), c.x.end()));
  const Var w = graph.input("w", f64, std::vector<DimSpec>(c.weight.begin(), c.weight.end()));
  const Var y = conv(a, w, {.stride = c.stride, .padding = c.padding, .dilation = c.dilation});
  const Var g = sin(y);
  const std::vector<Var> grads = grad(sum(y * stop_gradient(g)), {a, w});
  return session.compile({y, grads[0], grads[1], g})({{"x", x}, {"w", weight}}).tensors();
}

cuda::ConvTensor described(const Shape& shape) { return {shape, contiguous_strides(shape)}; }

TEST_P(CudaColumns, EqualTheCpu) {
  const Case& c = GetParam();
  const Tensor x = wave(c.x, 0.2), weight = wave(c.weight, 1.1);
  const std::vector<Tensor> exact = wanted(c, x, weight);
  const std::unique_ptr<Backend> backend = make_cuda_backend(0);
  const cuda::Context context = cuda::shared_context(0);
  const auto library = std::make_shared<const cuda::BlasLibrary>(context, false);
  for (const DType dtype : {f32, f64}) {
    const auto placed = [&](const Tensor& tensor) {
      const Tensor there = backend->allocate(dtype, tensor.shape());
      backend->copy(there, tensor.cast(dtype));
      return there;
    };
    for (const auto result :
         {cuda::ConvResult::output, cuda::ConvResult::x, cuda::ConvResult::weight}) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(static_cast<int>(result)));
      const auto way = cuda::ColumnConvolution::of(
          library, {result, dtype, described(c.x), described(c.weight), described(exact[0].shape()),
                    c.stride, c.padding, c.dilation, 16});
      ASSERT_TRUE(way);
      const Tensor operands[] = {placed(x), placed(weight), placed(exact[3])};
      const Tensor& found = operands[result == cuda::ConvResult::output ? 2
                                     : result == cuda::ConvResult::x    ? 0
                                                                        : 1];
      const Tensor workspace = backend->allocate(u8, {way->workspace()});
      std::vector<Tensor> runs;
      for (int run = 0; run < 2; ++run) {
        {
          const auto held = context->hold();
          context->fill(found.raw(), 0xff, found.bytes());  // not a number
          way->run({operands[0].raw(), operands[1].raw(), operands[2].raw()}, workspace.raw());
        }
        runs.push_back(backend->to_host(found).clone());
      }
      EXPECT_TRUE(bit_equal(runs[0], runs[1]));
      const std::vector<double> a = exact[static_cast<std::size_t>(result)].to_vector<double>();
      const std::vector<double> b = runs[0].cast(f64).to_vector<double>();
      ASSERT_EQ(a.size(), b.size());
      double largest = 0;
      for (const double value : a) {
        largest = std::max(largest, std::abs(value));
      }
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_NEAR(a[i], b[i], (dtype == f32 ? 2e-6 : 1e-13) * largest) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, CudaColumns, testing::ValuesIn(kCases), [](const auto& test) {
  std::string name = test.param.label;
  std::ranges::replace(name, ' ', '_');
  return name;
});

}  // namespace antichain::column_convolution_test
