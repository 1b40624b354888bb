// Which of cuDNN's ways a convolution takes, and from where it reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "antichain/antichain.h"
#include "antichain/backends/cuda/prepared_parts.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/backends_cuda/long_wave.h"
#include "tests/base/cache_folder.h"
#include "tests/base/temporary_folder.h"

namespace antichain {
namespace {

namespace fs = std::filesystem;

class CudaConvolution : public GpuTest {};

// A convolution and both of its gradients.
std::vector<Tensor> convolved(const std::string& device, DType dtype) {
  Session session({.device = device});
  Graph graph = session.graph();
  const Var x = graph.input("x", dtype, {16, 32, 12, 12}),
            w = graph.input("w", dtype, {48, 32, 3, 3});
  const Var y = conv(x, w, {.padding = {1, 1}});
  const std::vector<Var> grads = grad(sum(cast(y * y, f32)), {x, w});
  const Executable run = session.compile({y, grads[0], grads[1]}, {.compiler = {.level = 2}});
  const Feeds feeds = {{"x", long_wave({16, 32, 12, 12}, dtype)},
                       {"w", long_wave({48, 32, 3, 3}, dtype)}};
  const std::vector<Tensor> first = run(feeds).tensors();
  for (int i = 0; i < 2; ++i) {  // recorded, and replayed
    const std::vector<Tensor> again = run(feeds).tensors();
    for (std::size_t n = 0; n < first.size(); ++n) {
      EXPECT_TRUE(bit_equal(first[n], again[n])) << n;
    }
  }
  return first;
}

void expect_near(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted,
                 double tolerance) {
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    const std::vector<double> a = wanted[n].cast(f64).to_vector<double>();
    const std::vector<double> b = found[n].cast(f64).to_vector<double>();
    double largest = 0;
    for (const double value : a) {
      largest = std::max(largest, std::abs(value));
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], tolerance * largest) << "result " << n << ", element " << i;
    }
  }
}

std::size_t count_files(const fs::path& folder) {
  const auto is_file = [](const fs::directory_entry& entry) { return entry.is_regular_file(); };
  return static_cast<std::size_t>(std::ranges::count_if(
      fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator(), is_file));
}

TEST_F(CudaConvolution, ChoicesAreRemembered) {
  for (const DType dtype : {f32, bf16}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const TemporaryFolder folder;
    const CacheFolder cache(folder.path());
    const std::vector<Tensor> wanted = convolved("cpu", dtype);
    const std::vector<Tensor> measured = convolved("cuda", dtype);
    const std::size_t files = count_files(folder.path());
    EXPECT_GE(files, dtype == f32 ? 3U : 0U) << "the convolution and both gradients";
    const std::vector<Tensor> later = convolved("cuda", dtype);
    EXPECT_EQ(count_files(folder.path()), files);
    for (std::size_t n = 0; n < measured.size(); ++n) {
      EXPECT_TRUE(bit_equal(measured[n], later[n])) << n;
    }
    expect_near(measured, wanted, dtype == f32 ? 1e-5 : 2e-2);
  }
}

std::int64_t plans_chosen() {
  for (const PreparedPart& part : cuda_prepared_parts(0)) {
    if (part.what == "choosing convolutions") {
      return part.count;
    }
  }
  return 0;
}

// Layers of the same sizes have one plan, each with its own weights and memory to work in.
TEST_F(CudaConvolution, LayersOfTheSameSizesShareAPlan) {
  const Shape shape = {4, 32, 12, 12}, weight_shape = {32, 32, 3, 3};
  constexpr int kLayers = 4;
  const auto computed = [&](const std::string& device) {
    Session session({.device = device});
    Graph graph = session.graph();
    Var y = graph.input("x", bf16, {4, 32, 12, 12});
    const Var w = graph.input("w", bf16, {32, 32, 3, 3});
    for (int n = 0; n < kLayers; ++n) {
      y = relu(conv(y, w / (20 + n), {.padding = {1, 1}}));
    }
    const Executable run = session.compile({y});
    const Feeds feeds = {{"x", long_wave(shape, bf16)}, {"w", long_wave(weight_shape, bf16)}};
    run(feeds).wait();
    const std::vector<Tensor> found = run(feeds).tensors();
    return std::pair(found, device == "cuda" ? plans_chosen() : 0);
  };
  const std::vector<Tensor> wanted = computed("cpu").first;
  const std::int64_t before = plans_chosen();
  const auto [found, after] = computed("cuda");
  expect_near(found, wanted, 0.05);
  EXPECT_LT(after - before, kLayers);
}

TEST_F(CudaConvolution, WithoutACacheTheFirstAdviceIsTaken) {
  const CacheFolder none("");
  const std::vector<Tensor> first = convolved("cuda", f32), second = convolved("cuda", f32);
  for (std::size_t n = 0; n < first.size(); ++n) {
    EXPECT_TRUE(bit_equal(first[n], second[n])) << n;
  }
  expect_near(first, convolved("cpu", f32), 1e-5);
}

// Packed views whose addresses are multiples of an element's size alone.
TEST_F(CudaConvolution, OperandsMayBeginAnywhere) {
  for (const DType dtype : {f32, bf16}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const auto run = [dtype](const std::string& device) {
      Session session({.device = device});
      Graph graph = session.graph();
      const auto cut = [&](const char* name, std::int64_t first, const Shape& shape) {
        const Var line = graph.input(name, dtype, {first + numel(shape)});
        return reshape(slice(line, {{.axis = 0, .start = first}}),
                       Dims(shape.begin(), shape.end()));
      };
      const Var x = cut("x", 1, {4, 8, 9, 9}), w = cut("w", 3, {16, 8, 3, 3});
      const Var y = conv(x, w, {.padding = {1, 1}});
      const std::vector<Var> grads = grad(sum(cast(y * y, f32)), {x, w});
      const Executable compiled = session.compile({y, grads[0], grads[1]});
      return compiled({{"x", long_wave({1 + 4 * 8 * 9 * 9}, dtype)},
                       {"w", long_wave({3 + 16 * 8 * 3 * 3}, dtype)}})
          .tensors();
    };
    expect_near(run("cuda"), run("cpu"), dtype == f32 ? 1e-5 : 2e-2);
  }
}

}  // namespace
}  // namespace antichain
