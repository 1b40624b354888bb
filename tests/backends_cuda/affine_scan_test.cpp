// affine_scan on a GPU, by all its kernels, with the values of the CPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/conformance/compare.h"

namespace antichain::affine_scan_test {

class CudaAffineScan : public GpuTest {};

struct Case {
  std::int64_t steps, places, size;  // a size of 0 says diagonals
  AffineScanOptions options = {};
  double scale = 0.9;    // of matrices
  bool is_view = false;  // matrices begin an element behind where memory does
  bool gradients = false;
  double added = 1, initial = 1;  // scales of b, and of the first state

  bool dense() const { return size > 0; }
  Shape b() const { return dense() ? Shape{steps, places, size} : Shape{steps, places}; }
  Shape a() const { return dense() ? Shape{steps, places, size, size} : Shape{steps, places}; }
  std::string label() const {
    return fmt::format("{} steps, {} places of {}, {} chunks of {}{}{}{}", steps, places, size,
                       options.algorithm, options.chunk, options.reverse ? ", reverse" : "",
                       options.transposed ? ", transposed" : "", is_view ? ", a view" : "");
  }
};

Tensor drawn(const Shape& shape, double scale, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> draw(0, 1);
  Tensor values = Tensor::empty(f64, shape);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.data<double>()[i] = scale * draw(generator);
  }
  return values;
}

std::vector<Tensor> run(const std::string& device, DType dtype, const Case& c) {
  Session session({.device = device});
  Graph graph = session.graph();
  const auto input = [&](const char* name, const Shape& shape) {
    return graph.input(name, dtype, {shape.begin(), shape.end()});
  };
  const double root = std::sqrt(static_cast<double>(std::max<std::int64_t>(1, c.size)));
  const Shape flat = {numel(c.a()) + 1};
  const Var given = input("a", c.is_view ? flat : c.a()), b = input("b", c.b());
  const Shape rows = c.b(), initial(rows.begin() + 1, rows.end());
  const Var h = input("h", initial);
  const Shape shape = c.a();
  const Var a =
      c.is_view ? reshape(slice(given, {{.axis = 0, .start = 1}}), Dims(shape.begin(), shape.end()))
                : given;
  const AffineScan found = affine_scan(a, b, h, c.options);
  std::vector<Var> outputs = {found.before, found.last};
  if (c.gradients) {
    const Var loss = sum(sin(found.before)) + sum(cos(found.last));
    for (Var gradient : grad(loss, std::vector<Var>{given, b, h})) {
      outputs.push_back(gradient);
    }
  }
  const Executable executable = session.compile(outputs);
  const Feeds feeds = {{"a", drawn(c.is_view ? flat : c.a(), c.scale / root, 1).cast(dtype)},
                       {"b", drawn(c.b(), c.added, 2).cast(dtype)},
                       {"h", drawn(initial, c.initial, 3).cast(dtype)}};
  if (device != "cpu") {  // recorded by the second run
    executable(feeds);
    executable(feeds);
  }
  return executable(feeds).tensors();
}

void expect_values_of_the_cpu(const Case& c) {
  SCOPED_TRACE(c.label());
  for (const DType dtype : {f32, f64}) {
    const std::vector<Tensor> got = run("cuda", dtype, c), want = run("cpu", dtype, c);
    for (std::size_t i = 0; i < want.size(); ++i) {
      conformance::expect_close(got[i], want[i], dtype == f32 ? 2e-5 : 1e-12,
                                "value " + std::to_string(i));
    }
  }
}

TEST_F(CudaAffineScan, OfMatrices) {
  for (const std::int64_t size : {1, 3, 8, 20, 32, 33, 65, 130}) {
    for (const bool transposed : {false, true}) {
      const bool reverse = size % 2 == (transposed ? 1 : 0);
      expect_values_of_the_cpu({100, 3, size, {.reverse = reverse, .transposed = transposed}});
      for (const std::int64_t chunk : {1, 7, 50, 99}) {
        expect_values_of_the_cpu({100,
                                  chunk == 7 && size < 40 ? 37 : 2,
                                  size,
                                  {.reverse = reverse,
                                   .transposed = transposed,
                                   .algorithm = kScanChunked,
                                   .chunk = chunk}});
      }
    }
  }
}

TEST_F(CudaAffineScan, OfDiagonals) {
  for (const std::int64_t places : {1, 5, 1000}) {
    for (const bool reverse : {false, true}) {
      expect_values_of_the_cpu({3000, places, 0, {.reverse = reverse}});
      expect_values_of_the_cpu({300, places, 0, {.reverse = reverse, .algorithm = kScanSerial}});
      for (const std::int64_t chunk : {1, 9, 64, 299}) {
        expect_values_of_the_cpu(
            {300, places, 0, {.reverse = reverse, .algorithm = kScanChunked, .chunk = chunk}});
      }
    }
  }
}

TEST_F(CudaAffineScan, OfManySteps) {
  expect_values_of_the_cpu({30'000, 4, 20});
  expect_values_of_the_cpu({20'000, 1, 4, {.reverse = true, .transposed = true}});
  expect_values_of_the_cpu({200'000, 3, 0});
  expect_values_of_the_cpu({2000, 2, 48});
}

// Nothing to do, or next to nothing.
TEST_F(CudaAffineScan, OfFewSteps) {
  for (const std::int64_t size : {0, 4, 40}) {
    for (const std::int64_t steps : {0, 1, 2}) {
      for (const std::int64_t places : {0, 1, 3}) {
        expect_values_of_the_cpu({steps, places, size});
        expect_values_of_the_cpu({steps, places, size, {.algorithm = kScanChunked, .chunk = 1}});
      }
    }
  }
}

// Products that leave the range of f32, applied to states that do not.
TEST_F(CudaAffineScan, OfStepsThatGrow) {
  for (const std::int64_t size : {0, 5, 40}) {
    Case c{52, 2, size, {.algorithm = kScanChunked, .chunk = 45}, 20};
    c.added = 0;
    c.initial = 1e-36;
    expect_values_of_the_cpu(c);
    c.initial = 0;
    expect_values_of_the_cpu(c);
    expect_values_of_the_cpu({52, 2, size, {.algorithm = kScanChunked, .chunk = 45}, 1e-3});
  }
}

TEST_F(CudaAffineScan, OfViewsThatBeginAnywhere) {
  for (const std::int64_t size : {8, 20, 36}) {
    expect_values_of_the_cpu({60, 2, size, {.algorithm = kScanChunked, .chunk = 13}, 0.9, true});
  }
}

TEST_F(CudaAffineScan, IsDifferentiated) {
  for (const std::int64_t size : {0, 7, 34}) {
    for (const bool transposed : {false, true}) {
      expect_values_of_the_cpu(
          {80,
           3,
           size,
           {.transposed = transposed && size > 0, .algorithm = kScanChunked, .chunk = 20},
           0.9,
           false,
           true});
    }
  }
}

// Trees are taken apart into steps.
TEST_F(CudaAffineScan, ByAlgorithmsOfTheCpu) {
  expect_values_of_the_cpu({30, 2, 3, {.algorithm = kScanBlelloch}});
  expect_values_of_the_cpu({30, 2, 0, {.algorithm = kScanHybrid, .chunk = 4}});
}

}  // namespace antichain::affine_scan_test
