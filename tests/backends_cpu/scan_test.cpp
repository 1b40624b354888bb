// Every way to compute a scan, alone: on random shapes against the reference, and on recurrences
// that expand, contract, turn and forget, over as many as a million steps, against plain loops in
// double.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/backends/cpu/scans/scan_choice.h"
#include "antichain/backends/cpu/scans/scan_costs.h"
#include "antichain/ops/scans/affine_scan.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"
#include "tests/base/temporary_folder.h"

namespace antichain::cpu::scan_test {

const std::vector<AffineScanOptions>& algorithms() {
  static const std::vector<AffineScanOptions> all = {
      {.algorithm = kScanSerial},
      {.algorithm = kScanBlelloch},
      {.algorithm = kScanHybrid},
      {.algorithm = kScanHybrid, .chunk = 1},
      {.algorithm = kScanHybrid, .chunk = 64},
      {.algorithm = kScanChunked},
      {.algorithm = kScanChunked, .chunk = 1},
      {.algorithm = kScanChunked, .chunk = 97},
      {},
  };
  return all;
}

std::string describe(const AffineScanOptions& options) {
  return (options.algorithm.empty() ? "chosen" : options.algorithm) + " " +
         std::to_string(options.chunk) + (options.reverse ? " reverse" : "") +
         (options.transposed ? " transposed" : "");
}

Shape with(Shape shape, std::initializer_list<std::int64_t> more) {
  shape.insert(shape.end(), more);
  return shape;
}

std::vector<Var> outputs(const AffineScan& scan) { return {scan.before, scan.last}; }

TEST(Scan, RandomShapes) {
  Draw draw(71);
  int checked = 0;
  for (int round = 0; round < 60; ++round) {
    const bool matrices = draw.coin();
    const DType dtype = draw.one_of({f32, f64, bf16, f16});
    const Shape places = draw.shape(draw.between(0, 2), matrices ? 6 : 200);
    const Shape state = matrices ? with(places, {draw.between(1, 9)}) : places;
    const Shape steps = {draw.one_of<std::int64_t>({0, 1, 2, 3, 5, 8, 17, 64, 131})};
    Shape b_shape = steps;
    b_shape.insert(b_shape.end(), state.begin(), state.end());
    const Shape a_shape = matrices ? with(b_shape, {state.back()}) : b_shape;
    AffineScanOptions options = draw.one_of(algorithms());
    options.reverse = draw.coin();
    options.transposed = matrices && draw.coin();
    // Small enough that states neither grow nor vanish.
    const double bound = matrices ? 1.5 / std::sqrt(static_cast<double>(state.back())) : 1.2;
    const std::vector<Tensor> inputs = {draw.values(dtype, a_shape, -bound, bound),
                                        draw.values(dtype, b_shape, -1, 1),
                                        draw.values(dtype, state, -1, 1)};
    checked += expect_kernels_agree({affine_scan_def(), inputs,
                                     [&](Graph&, std::span<const Var> in) {
                                       return outputs(affine_scan(in[0], in[1], in[2], options));
                                     }},
                                    tolerance_of(dtype, steps[0]),
                                    describe(options) + " of " + to_string(a_shape));
  }
  EXPECT_GE(checked, 60);
}

// A recurrence with `places` vectors of `size` numbers, of diagonals when size is 1.
struct Recurrence {
  std::int64_t steps, size = 1;
  std::vector<float> a, b, initial;

  Recurrence(std::int64_t step_count, std::int64_t vector_size)
      : steps(step_count),
        size(vector_size),
        a(static_cast<std::size_t>(steps * size * size)),
        b(static_cast<std::size_t>(steps * size)),
        initial(static_cast<std::size_t>(size)) {}

  // The states before each step and the last one, as plain loops in double find them.
  std::vector<double> states() const {
    std::vector<double> all(initial.begin(), initial.end()), s = all;
    for (std::int64_t t = 0; t < steps; ++t) {
      std::vector<double> next(s.size());
      for (std::int64_t i = 0; i < size; ++i) {
        double sum = b[static_cast<std::size_t>(t * size + i)];
        for (std::int64_t j = 0; j < size; ++j) {
          sum += static_cast<double>(a[static_cast<std::size_t>((t * size + i) * size + j)]) *
                 s[static_cast<std::size_t>(j)];
        }
        next[static_cast<std::size_t>(i)] = sum;
      }
      s = next;
      all.insert(all.end(), s.begin(), s.end());
    }
    return all;
  }
};

// Expects every algorithm to find the states to float's precision, relative to the largest number
// of the state.
void expect_exact(const Recurrence& recurrence, const std::string& what) {
  const bool matrices = recurrence.size > 1;
  const Shape state = matrices ? Shape{recurrence.size} : Shape{};
  const Shape rows = matrices ? Shape{recurrence.steps, recurrence.size} : Shape{recurrence.steps};
  const std::vector<Tensor> inputs = {
      Tensor::of<float>(matrices ? with(rows, {recurrence.size}) : rows, recurrence.a),
      Tensor::of<float>(rows, recurrence.b), Tensor::of<float>(state, recurrence.initial)};
  const std::vector<double> want = recurrence.states();
  for (const AffineScanOptions& options : algorithms()) {
    const KernelTrial trial(inputs, [&](Graph&, std::span<const Var> in) {
      return outputs(affine_scan(in[0], in[1], in[2], options));
    });
    const std::vector<Tensor> found = trial.run(trial.kernels()[0]);
    std::vector<double> got = found[0].to_vector<double>();
    const std::vector<double> last = found[1].to_vector<double>();
    got.insert(got.end(), last.begin(), last.end());
    ASSERT_EQ(got.size(), want.size());
    double worst = 0;
    for (std::int64_t t = 0; t <= recurrence.steps; ++t) {
      double error = 0, size = 1e-30;
      for (std::int64_t i = 0; i < recurrence.size; ++i) {
        const auto at = static_cast<std::size_t>(t * recurrence.size + i);
        ASSERT_TRUE(std::isfinite(got[at])) << what << ", " << describe(options) << ", step " << t;
        error = std::max(error, std::abs(got[at] - want[at]));
        size = std::max(size, std::abs(want[at]));
      }
      worst = std::max(worst, error / size);
    }
    EXPECT_LT(worst, 2e-7) << what << ", " << describe(options);
  }
}

TEST(Scan, AMillionStepsOfDiagonals) {
  Draw draw(72);
  Recurrence r(1'000'000, 1);
  for (std::size_t t = 0; t < r.a.size(); ++t) {
    r.a[t] = static_cast<float>(draw.between(500, 999)) / 1000;
    r.b[t] = static_cast<float>(draw.between(1, 1000)) / 1000;
  }
  r.initial[0] = 3;
  expect_exact(r, "contracting");
  for (std::size_t t = 0; t < r.a.size(); ++t) {
    r.a[t] = t % 3 == 0 ? -1.0F : 1.0F;
    r.b[t] = t % 2 == 0 ? 0.5F : 0.25F;
  }
  expect_exact(r, "turning");
  for (std::size_t t = 0; t < r.a.size(); ++t) {
    r.a[t] = 1 + 6e-5F;  // to the power of a million: e^60
  }
  expect_exact(r, "expanding");
  for (std::size_t t = 0; t < r.a.size(); t += 1009) {
    r.a[t] = 0;
  }
  expect_exact(r, "expanding and forgetting");
}

// The product of a chunk leaves the range of any float, what it is applied to is 0.
TEST(Scan, ProductsBeyondTheRange) {
  for (const std::int64_t size : {1, 3}) {
    Recurrence r(5000, size);
    for (std::int64_t t = 0; t < r.steps; ++t) {
      for (std::int64_t i = 0; i < size * size; ++i) {
        const bool diagonal = i % (size + 1) == 0;
        r.a[static_cast<std::size_t>(t * size * size + i)] = diagonal ? 8.0F : 0.5F;
      }
    }
    r.b[static_cast<std::size_t>((r.steps - 20) * size)] = 1;
    expect_exact(r, "growing products, size " + std::to_string(size));
    for (float& x : r.a) {
      x = std::ldexp(x, -9);
    }
    r.initial[0] = 1;
    expect_exact(r, "vanishing products, size " + std::to_string(size));
  }
}

TEST(Scan, Matrices) {
  Draw draw(73);
  const auto number = [&](double bound) {
    return static_cast<float>(bound * static_cast<double>(draw.between(-1000, 1000)) / 1000);
  };
  Recurrence turning(20'000, 2);
  for (std::int64_t t = 0; t < turning.steps; ++t) {
    const float c = t % 2 ? 0.6F : 0.5F, s = t % 2 ? 0.8F : std::sqrt(0.75F);
    const std::size_t at = static_cast<std::size_t>(4 * t);
    turning.a[at] = turning.a[at + 3] = c;
    turning.a[at + 1] = -s;
    turning.a[at + 2] = s;
    turning.b[static_cast<std::size_t>(2 * t)] = number(0.1);
  }
  turning.initial = {1, 2};
  expect_exact(turning, "turning");
  for (const double bound : {0.1, 1.2}) {
    Recurrence r(bound < 1 ? 5000 : 100, 7);
    for (float& x : r.a) {
      x = number(bound);
    }
    for (float& x : r.b) {
      x = number(1);
    }
    expect_exact(r, bound < 1 ? "contracting" : "expanding");
    std::fill_n(r.a.begin() + 49 * 50, 49, 0.0F);
    expect_exact(r, "with a matrix of zeros");
  }
}

TEST(Scan, ChoiceDependsOnSizesAndCores) {
  const auto shape = [](std::int64_t steps, std::int64_t places, std::int64_t size) {
    return ScanShape{.steps = steps, .places = places, .size = size, .matrices = size > 1};
  };
  // Enough lanes for all cores: nothing is to be gained.
  EXPECT_EQ(choose_scan(shape(10'000, 4096, 1), {}, 8).algorithm, kScanSerial);
  // One lane and many cores.
  const ScanChoice chunked = choose_scan(shape(100'000, 8, 1), {}, 16);
  EXPECT_EQ(chunked.algorithm, kScanChunked);
  EXPECT_GE(chunked.chunk, 100'000 / 64);
  EXPECT_LE(chunked.chunk, 100'000 / 16);
  // Products of large matrices cost more than so few cores bring.
  EXPECT_EQ(choose_scan(shape(100'000, 1, 20), {}, 2).algorithm, kScanSerial);
  EXPECT_EQ(choose_scan(shape(100'000, 8, 1), {}, 1).algorithm, kScanSerial);
  EXPECT_NE(chunked.reason.find("in chunks"), std::string::npos);
  // What the op asks for is done.
  EXPECT_EQ(choose_scan(shape(100, 1, 20), {kScanChunked, 7}, 2).chunk, 7);
  EXPECT_EQ(choose_scan(shape(100, 1, 20), {kScanHybrid, 0}, 2).chunk, 32);
}

TEST(Scan, ChoiceDependsOnCosts) {
  const ScanShape shape{.steps = 10'000, .places = 1, .size = 4, .matrices = true};
  const ScanCosts cheap_products{.step = 1e-7, .entry = 1e-8, .term = 1e-12, .fork = 1e-9},
      costly_forks{.step = 1e-7, .entry = 1e-8, .term = 1e-12, .fork = 1};
  EXPECT_EQ(choose_scan(shape, {}, 8, cheap_products).algorithm, kScanChunked);
  EXPECT_EQ(choose_scan(shape, {}, 8, costly_forks).algorithm, kScanSerial);
}

TEST(Scan, CostsAreKeptInAFile) {
  const TemporaryFolder folder;
  const std::filesystem::path file = scan_costs_file(folder.path());
  EXPECT_EQ(load_scan_costs(file).step, ScanCosts().step);  // there is none
  const ScanCosts measured = measure_scan_costs();
  for (const NamedScanCost& named : kScanCosts) {
    EXPECT_GT(measured.*named.cost, 0) << named.name;
    EXPECT_LT(measured.*named.cost, 1) << named.name;
  }
  save_scan_costs(file, measured);
  for (const NamedScanCost& named : kScanCosts) {
    EXPECT_NEAR(load_scan_costs(file).*named.cost, measured.*named.cost,
                1e-3 * measured.*named.cost);
  }
  for (const char* damaged : {"", "step 1e-9\n", "step -1\ncolumn 1\nentry 1\nterm 1\nfork 1\n",
                              "fork 1\nstep 1\ncolumn 1\nentry 1\nterm 1\n"}) {
    std::ofstream(file) << damaged;
    EXPECT_EQ(load_scan_costs(file).step, ScanCosts().step) << damaged;
  }
}

TEST(Scan, LanesAreAsWideAsCoresAllow) {
  EXPECT_EQ(columns_per_lane(10, 2), 64);
  EXPECT_EQ(columns_per_lane(1000, 2), 256);
  EXPECT_EQ(columns_per_lane(1000, 64), 64);
  EXPECT_EQ(columns_per_lane(1'000'000, 2), columns_per_lane(2'000'000, 2));
}

}  // namespace antichain::cpu::scan_test
