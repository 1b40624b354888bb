// Scans on a GPU over as many as a million steps that contract, expand, turn and forget, against
// plain loops in double: as exact as plain loops in float, or to 1e-5. Where steps keep the size of
// states, or expand them, errors of weights add up: tensor cores are given 23 bits of these.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "antichain/antichain.h"
#include "antichain/ops/scans/weighted_scan.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::scan_numerics_test {

class CudaScanNumerics : public GpuTest {};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// g := W (c[t] ∘ g) + b[t], as back-propagation through a tanh layer has it; one matrix W, or one
// per step, which then is all of it.
struct Recurrence {
  std::int64_t steps, size;
  std::vector<float> weight, c, b, initial;

  Recurrence(std::int64_t step_count, std::int64_t vector_size, std::int64_t matrices = 1)
      : steps(step_count),
        size(vector_size),
        weight(at(matrices * size * size)),
        c(at(steps * size), 1),
        b(at(steps * size)),
        initial(at(size)) {}

  bool is_weighted() const { return weight.size() == at(size * size); }

  // The states before each step and the last one.
  template <class Real>
  std::vector<Real> states() const {
    std::vector<Real> all(initial.begin(), initial.end()), s = all, next(s.size());
    all.reserve(at((steps + 1) * size));
    for (std::int64_t t = 0; t < steps; ++t) {
      const float* const w = weight.data() + (is_weighted() ? 0 : t * size * size);
      for (std::int64_t i = 0; i < size; ++i) {
        Real sum = b[at(t * size + i)];
        for (std::int64_t j = 0; j < size; ++j) {
          sum += static_cast<Real>(w[i * size + j]) *
                 (static_cast<Real>(c[at(t * size + j)]) * s[at(j)]);
        }
        next[at(i)] = sum;
      }
      s.swap(next);
      all.insert(all.end(), s.begin(), s.end());
    }
    return all;
  }

  std::vector<double> states_on_gpu(std::int64_t chunk) const {
    Session session({.device = "cuda"});
    Graph graph = session.graph();
    const Var g = graph.input("g", f32, {1, size}), added = graph.input("b", f32, {steps, 1, size});
    const AffineScanOptions options{.algorithm = chunk > 0 ? kScanChunked : "", .chunk = chunk};
    Feeds feeds = {{"g", Tensor::of<float>({1, size}, initial)},
                   {"b", Tensor::of<float>({steps, 1, size}, b)}};
    AffineScan found;
    if (is_weighted()) {
      const Var w = graph.input("w", f32, {1, size, size}),
                factors = graph.input("c", f32, {steps, 1, size});
      found = weighted_scan({1, {0}, {}, {{0, 0}}},
                            {.weights = w, .initial = g, .coefficients = {factors}, .b = added},
                            options);
      feeds["w"] = Tensor::of<float>({1, size, size}, weight);
      feeds["c"] = Tensor::of<float>({steps, 1, size}, c);
    } else {
      found = affine_scan(graph.input("a", f32, {steps, 1, size, size}), added, g, options);
      feeds["a"] = Tensor::of<float>({steps, 1, size, size}, weight);
    }
    const std::vector<Tensor> results =
        session.compile({found.before, found.last})(feeds).tensors();
    std::vector<double> all = results[0].to_vector<double>();
    const std::vector<double> last = results[1].to_vector<double>();
    all.insert(all.end(), last.begin(), last.end());
    return all;
  }
};

// The largest error of any state, relative to its largest number.
template <class Real>
double error_of(const std::vector<Real>& got, const std::vector<double>& want, std::int64_t size) {
  double worst = 0;
  for (std::size_t first = 0; first < want.size(); first += at(size)) {
    double error = 0, largest = 1e-30;
    for (std::size_t i = first; i < first + at(size); ++i) {
      const auto value = static_cast<double>(got[i]);
      error = std::isfinite(value) ? std::max(error, std::abs(value - want[i])) : INFINITY;
      largest = std::max(largest, std::abs(want[i]));
    }
    worst = std::max(worst, error / largest);
  }
  return worst;
}

// By how much the last state is too long.
double drift_of(const std::vector<double>& got, const std::vector<double>& want,
                std::int64_t size) {
  const auto square = [size](const std::vector<double>& all) {
    return std::inner_product(all.end() - size, all.end(), all.end() - size, 0.0);
  };
  return std::sqrt(square(got) / square(want)) - 1;
}

constexpr double kOfWeights = 0x1p-25;  // error of a step by their rounding, on average

void expect_exact(const Recurrence& recurrence, const std::string& what, double per_step = 0) {
  const std::vector<double> want = recurrence.states<double>();
  const double serial = error_of(recurrence.states<float>(), want, recurrence.size);
  for (const std::int64_t chunk : {0, 100}) {
    const std::vector<double> got = recurrence.states_on_gpu(chunk);
    ASSERT_EQ(got.size(), want.size());
    const double error = error_of(got, want, recurrence.size);
    const std::string report = fmt::format(
        "{}, {} steps of {}, chunk {}: error {:.2g}, of a loop in float {:.2g}; drift "
        "{:.2g}",
        what, recurrence.steps, recurrence.size, chunk, error, serial,
        drift_of(got, want, recurrence.size));
    std::puts(report.c_str());
    const double of_all_steps = per_step * static_cast<double>(recurrence.steps);
    EXPECT_LE(error, std::max({1e-5, 10 * serial, of_all_steps})) << report;
  }
}

// The identity turned in the planes of all pairs of axes.
std::vector<float> turning_matrix(std::int64_t size, double scale) {
  std::vector<double> matrix(at(size * size));
  for (std::int64_t i = 0; i < size; ++i) {
    matrix[at(i * size + i)] = scale;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = i + 1; j < size; ++j) {
      const double angle = 0.3 * static_cast<double>(1 + i + 2 * j);
      for (std::int64_t k = 0; k < size; ++k) {
        const double a = matrix[at(i * size + k)], b = matrix[at(j * size + k)];
        matrix[at(i * size + k)] = std::cos(angle) * a - std::sin(angle) * b;
        matrix[at(j * size + k)] = std::sin(angle) * a + std::cos(angle) * b;
      }
    }
  }
  return {matrix.begin(), matrix.end()};
}

void fill_with_waves(std::vector<float>& values, float scale) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = scale * std::sin(1.7F * static_cast<float>(i % 100'003));
  }
}

Recurrence turning(std::int64_t steps, std::int64_t size, double scale) {
  Recurrence r(steps, size);
  r.weight = turning_matrix(size, scale);
  fill_with_waves(r.initial, 1);
  return r;
}

TEST_F(CudaScanNumerics, StepsThatContract) {
  for (const double scale : {0.5, 0.97}) {
    Recurrence r = turning(1'000'000, 20, scale);
    fill_with_waves(r.b, 1);
    expect_exact(r, fmt::format("contracting by {}", scale));
  }
}

// Nothing is added: gradients vanish, and what is left of them is as exact as at the start.
TEST_F(CudaScanNumerics, StepsThatVanish) {
  expect_exact(turning(2000, 20, 0.97), "vanishing", kOfWeights);
}

TEST_F(CudaScanNumerics, StepsThatExpand) {
  expect_exact(turning(3000, 20, 1.02), "expanding", kOfWeights);
  Recurrence r = turning(1'000'000, 20, 1 + 6e-5);  // to the power of a million: e^60
  fill_with_waves(r.b, 1);
  expect_exact(r, "expanding", kOfWeights);
}

TEST_F(CudaScanNumerics, StepsThatTurn) {
  Recurrence r = turning(1'000'000, 20, 1);
  fill_with_waves(r.b, 0.1F);
  expect_exact(r, "turning", kOfWeights);
}

TEST_F(CudaScanNumerics, StepsThatForget) {
  Recurrence r = turning(1'000'000, 20, 1.02);
  fill_with_waves(r.b, 1);
  for (std::int64_t t = 0; t < r.steps; t += 1009) {
    std::fill_n(r.c.begin() + t * r.size, r.size, 0.0F);
  }
  expect_exact(r, "expanding and forgetting");
  r.weight.assign(r.weight.size(), 0);
  expect_exact(r, "weights of zeros");
}

// The products of chunks leave the range of any float, what they are applied to is 0.
TEST_F(CudaScanNumerics, ProductsBeyondTheRange) {
  Recurrence r = turning(5000, 20, 8);
  std::fill(r.initial.begin(), r.initial.end(), 0.0F);
  r.b[at((r.steps - 20) * r.size)] = 1;
  expect_exact(r, "growing products");
  r = turning(5000, 20, 1.0 / 64);
  expect_exact(r, "vanishing products");
}

// The Jacobians of all steps, written down.
TEST_F(CudaScanNumerics, MatricesOfAllSteps) {
  for (const double scale : {0.9, 1.0, 1.02}) {
    Recurrence r(scale > 1 ? 1000 : 200'000, 6, scale > 1 ? 1000 : 200'000);
    const std::vector<float> matrix = turning_matrix(r.size, scale);
    for (std::int64_t t = 0; t < r.steps; ++t) {
      std::copy(matrix.begin(), matrix.end(), r.weight.begin() + t * r.size * r.size);
      if (t % 997 == 0 && scale == 0.9) {
        std::fill_n(r.weight.begin() + t * r.size * r.size, r.size * r.size, 0.0F);
      }
    }
    fill_with_waves(r.b, 1);
    fill_with_waves(r.initial, 1);
    expect_exact(r, fmt::format("matrices that turn and scale by {}", scale));
  }
}

}  // namespace antichain::scan_numerics_test
