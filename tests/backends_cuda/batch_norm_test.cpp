// Batch norm on a GPU, against the CPU in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "antichain/antichain.h"
#include "antichain/ops/convolution/channel_sums.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::batch_norm_test {

class CudaBatchNorm : public GpuTest {};

Tensor wave(const Shape& shape, DType dtype, double mean = 0, double step = 0.37) {
  Tensor result = Tensor::empty(f64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<double>()[i] = mean + std::sin(step * static_cast<double>(i % 10'007) + 0.2);
  }
  return result.cast(dtype);
}

using Build = std::function<std::vector<Var>(Graph&)>;

// Several runs: the first by kernels, the second recorded, the others replayed.
std::vector<Tensor> results_on(const std::string& device, const Build& build, const Feeds& feeds) {
  Session session({.device = device});
  Graph graph = session.graph();
  const Executable run = session.compile(build(graph));
  const std::vector<Tensor> results = run(feeds).tensors();
  for (int i = 0; device != "cpu" && i < 3; ++i) {
    const std::vector<Tensor> again = run(feeds).tensors();
    for (std::size_t n = 0; n < results.size(); ++n) {
      EXPECT_TRUE(bit_equal(again[n], results[n])) << "run " << i << ", result " << n;
    }
  }
  return results;
}

void expect_near(const Tensor& found, const Tensor& wanted, double tolerance, double scale = 1) {
  const std::vector<double> a = wanted.cast(f64).to_vector<double>();
  const std::vector<double> b = found.cast(f64).to_vector<double>();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * (scale + std::abs(a[i]))) << i;
  }
}

struct Case {
  Shape shape;
  std::int64_t axis;
};
const std::vector<Case> kCases = {
    {{64, 33, 33, 64}, -1}, {{1000, 512}, 1},       {{40, 7, 50, 9}, -1}, {{16, 64, 31, 33}, 1},
    {{5, 17, 48, 64}, 1},   {{700'001, 3}, 1},      {{300'000, 1}, 1},    {{3, 5}, 1},
    {{2, 2050, 7}, 1},      {{70'000, 4, 2, 1}, 1}, {{9, 6, 1000, 4}, 2}};

TEST_F(CudaBatchNorm, MomentsOfLargeMeansAreAccurate) {
  for (const auto& [shape, axis] : kCases) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
      for (const double mean : {0.0, 1000.0}) {
        SCOPED_TRACE(std::string(name(dtype)) + to_string(shape) + " about " +
                     std::to_string(mean));
        const Tensor x = wave(shape, dtype, mean);
        const DType stat = size_of(dtype) == 2 ? f32 : dtype;
        const auto build = [&](DType from, DType to) {
          return [&, from, to](Graph& graph) {
            const Var in = graph.input("x", from, {shape.begin(), shape.end()});
            const ChannelMoments moments = channel_moments(in, to, axis);
            return std::vector<Var>{moments.mean, moments.variance};
          };
        };
        const std::vector<Tensor> wanted = results_on("cpu", build(f64, f64), {{"x", x.cast(f64)}});
        const std::vector<Tensor> found = results_on("cuda", build(dtype, stat), {{"x", x}});
        const double tolerance = dtype == f64 ? 1e-12 : 2e-6;
        expect_near(found[0], wanted[0], tolerance, 1);
        expect_near(found[1], wanted[1], tolerance, 1e-3);
      }
    }
  }
}

TEST_F(CudaBatchNorm, GradientSumsAreAccurate) {
  for (const auto& [shape, axis] : kCases) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(shape));
      const Tensor x = wave(shape, dtype, 3), grad = wave(shape, dtype, 0.1, 0.71);
      const std::int64_t channels = shape[static_cast<std::size_t>(
          axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)];
      const DType stat = size_of(dtype) == 2 ? f32 : dtype;
      const auto build = [&](DType from, DType to) {
        return [&, from, to](Graph& graph) {
          const std::vector<DimSpec> dims(shape.begin(), shape.end());
          const ChannelGradientSums sums = channel_gradient_sums(
              graph.input("grad", from, dims), graph.input("x", from, dims),
              graph.input("mean", to, {channels}), graph.input("slope", to, {channels}), axis);
          return std::vector<Var>{sums.grad, sums.product};
        };
      };
      const Tensor mean = wave({channels}, stat, 3), slope = wave({channels}, stat, 2);
      const std::vector<Tensor> wanted = results_on("cpu", build(f64, f64),
                                                    {{"x", x.cast(f64)},
                                                     {"grad", grad.cast(f64)},
                                                     {"mean", mean.cast(f64)},
                                                     {"slope", slope.cast(f64)}});
      const std::vector<Tensor> found = results_on(
          "cuda", build(dtype, stat), {{"x", x}, {"grad", grad}, {"mean", mean}, {"slope", slope}});
      // Sums may cancel: errors are those of what is added up.
      const double count = static_cast<double>(x.numel() / channels);
      const double tolerance = dtype == f64 ? 1e-13 : 1e-6;
      expect_near(found[0], wanted[0], tolerance, count);
      expect_near(found[1], wanted[1], tolerance, 10 * count);
    }
  }
}

// Views begin where runs of elements cannot be read at once.
TEST_F(CudaBatchNorm, ViewsMayBeginAnywhere) {
  for (const DType dtype : {f32, bf16}) {
    const auto build = [dtype](Graph& graph) {
      const Var line = graph.input("x", dtype, {1 + 3000 * 16});
      const Var x = reshape(slice(line, {{.axis = 0, .start = 1}}), {3000, 16});
      const ChannelMoments moments = channel_moments(x, f32, 1);
      const ChannelGradientSums sums =
          channel_gradient_sums(x, x, moments.mean, moments.variance, 1);
      return std::vector<Var>{moments.mean, moments.variance, sums.grad, sums.product};
    };
    const Feeds feeds = {{"x", wave({1 + 3000 * 16}, dtype)}};
    const std::vector<Tensor> wanted = results_on("cpu", build, feeds);
    const std::vector<Tensor> found = results_on("cuda", build, feeds);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      expect_near(found[i], wanted[i], 1e-5, i < 2 ? 1 : 3000);
    }
  }
}

TEST_F(CudaBatchNorm, MomentsOfNothingAndOfInfinity) {
  const auto build = [](Graph& graph) {
    const ChannelMoments none = channel_moments(graph.input("none", f32, {0, 5, 2}), f32);
    const ChannelMoments some = channel_moments(graph.input("some", f32, {3, 2}), f32);
    return std::vector<Var>{none.mean, none.variance, some.mean, some.variance};
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor some = Tensor::of({3, 2}, std::vector<float>{infinity, 1, 2, 3, 4, 5});
  const std::vector<Tensor> found =
      results_on("cuda", build, {{"none", Tensor::zeros(f32, {0, 5, 2})}, {"some", some}});
  EXPECT_EQ(found[0].to_vector<float>(), std::vector<float>(5, 0));
  EXPECT_EQ(found[1].to_vector<float>(), std::vector<float>(5, 0));
  EXPECT_EQ(found[2].to_vector<float>()[0], infinity);
  EXPECT_TRUE(std::isnan(found[3].to_vector<float>()[0]));
  EXPECT_EQ(found[2].to_vector<float>()[1], 3);
  EXPECT_FLOAT_EQ(found[3].to_vector<float>()[1], 8.0F / 3);
}

// Norms, running statistics and gradients of a small network, after a few steps.
StateStore::Values trained(const std::string& device, DType dtype, int level) {
  Session session({.device = device, .seed = 3});
  Graph graph = session.graph();
  Var x = graph.input("x", dtype, {8, 16, 10, 10});
  for (const char* name : {"a", "b"}) {
    const ScopeGuard scope(graph, name);
    const Var y = nn::conv2d(x, 16, {3, 3}, {.padding = {1, 1}, .bias = false});
    x = relu(nn::batch_norm(y, {.training = true}) + x);
  }
  const Var loss = mean(square(cast(x, f32)));
  const Executable step = session.compile(
      {loss}, {.updates = optim::sgd(loss, {.lr = 0.05}), .compiler = {.level = level}});
  for (int i = 0; i < 4; ++i) {
    step({{"x", wave({8, 16, 10, 10}, dtype)}});
  }
  return session.states().all();
}

TEST_F(CudaBatchNorm, TrainsAsOnTheCpu) {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int level : {0, 2, 3}) {
      SCOPED_TRACE(std::string(name(dtype)) + " at level " + std::to_string(level));
      const StateStore::Values cpu = trained("cpu", dtype, level);
      const StateStore::Values gpu = trained("cuda", dtype, level);
      ASSERT_EQ(cpu.size(), gpu.size());
      for (const auto& [state, value] : cpu) {
        SCOPED_TRACE(state);
        expect_near(gpu.at(state), value, dtype == bf16 ? 2e-2 : dtype == f32 ? 1e-4 : 1e-10);
      }
    }
  }
}

}  // namespace antichain::batch_norm_test
