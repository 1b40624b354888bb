// The three phases of a weighted scan, run on the host: every index and every lane is that of the
// GPU.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/backends_cuda/emulated_block.h"
//
#include "antichain/backends/cuda/device/weighted_scan.cuh"
#include "antichain/ops/scans/weighted_scan.h"
#include "antichain/session/session.h"

namespace antichain::weighted_scan_emulation_test {

using device::Four;

struct Rnn {
  static constexpr int units = 5, states = 1, weights = 1, diagonals = 0, products = 1, adds = 1;
  static constexpr unsigned long long weight_to = 0, diagonal_to = 0, diagonal_from = 0,
                                      product_weight = 0, product_from = 0;
};
struct Gru {
  static constexpr int units = 20, states = 1, weights = 3, diagonals = 1, products = 3, adds = 1;
  static constexpr unsigned long long weight_to = 0, diagonal_to = 0, diagonal_from = 0,
                                      product_weight = 0x210, product_from = 0;
};
// Weights are added to the first part; the second one is kept by diagonals.
struct Lstm {
  static constexpr int units = 18, states = 2, weights = 2, diagonals = 2, products = 3, adds = 1;
  static constexpr unsigned long long weight_to = 0, diagonal_to = 0x01, diagonal_from = 0x11,
                                      product_weight = 0x100, product_from = 0x110;
};

struct Twenty : Rnn {
  static constexpr int units = 20;
};
struct Nine : Rnn {
  static constexpr int units = 9;
};
// Nothing is added, and units are more than a warp has lanes.
struct Wide {
  static constexpr int units = 36, states = 1, weights = 1, diagonals = 1, products = 1, adds = 0;
  static constexpr unsigned long long weight_to = 0, diagonal_to = 0, diagonal_from = 0,
                                      product_weight = 0, product_from = 0;
};

template <class Form>
WeightedForm form_of() {
  WeightedForm form{.states = Form::states};
  for (int k = 0; k < Form::weights; ++k) {
    form.weight_to.push_back(device::listed(Form::weight_to, k));
  }
  for (int d = 0; d < Form::diagonals; ++d) {
    form.diagonals.push_back(
        {device::listed(Form::diagonal_to, d), device::listed(Form::diagonal_from, d)});
  }
  for (int x = 0; x < Form::products; ++x) {
    form.products.push_back(
        {device::listed(Form::product_weight, x), device::listed(Form::product_from, x)});
  }
  return form;
}

Tensor drawn(const Shape& shape, float scale, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> draw(0, scale);
  Tensor result = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = draw(generator);
  }
  return result;
}

// The op's reference, in f64.
template <class Form>
std::vector<Tensor> wanted(const std::vector<Tensor>& inputs, bool reverse) {
  Session session;
  Graph graph = session.graph();
  std::vector<Var> in;
  Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape();
    const std::string name = "in" + std::to_string(i);
    in.push_back(graph.input(name, f64, std::vector<DimSpec>(shape.begin(), shape.end())));
    feeds[name] = inputs[i].cast(f64);
  }
  const auto first = in.begin() + 2, second = first + Form::diagonals,
             end = second + Form::products;
  const AffineScan found = weighted_scan(form_of<Form>(),
                                         {.weights = in[0],
                                          .initial = in[1],
                                          .diagonals = {first, second},
                                          .coefficients = {second, end},
                                          .b = Form::adds ? in.back() : Var()},
                                         {.reverse = reverse});
  Attrs attrs = found.last.producer().attrs();
  attrs.set("factors", true);
  const Op op = graph.add(weighted_scan_def(), found.last.producer().inputs(), attrs);
  return session.compile(op.outputs(), {.compiler = {.level = 0}})(feeds).tensors();
}

struct Case {
  long long steps, places, chunk;
  bool reverse = false;
  float scale = 1;                 // of weights
  float b_scale = 1, initial = 1;  // of what is added, and of the first state
  long long group = 0;             // chunks; 0: all
  bool turns = false;              // weights turn states, and coefficients are 1
  double tolerance = 2e-5;
  std::int64_t forgets = 0;  // coefficients are 0 in every so manieth step
};

void expect_close(const std::vector<float>& found, const Tensor& want, double tolerance) {
  const std::vector<double> values = want.to_vector<double>();
  ASSERT_EQ(found.size(), values.size());
  double largest = 1e-30;  // what is far below may vanish in f32
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(found[i], values[i], tolerance * largest) << i;
  }
}

// A matrix [1, size, size] that keeps lengths: turns in the planes of all pairs of axes.
Tensor rotation(std::int64_t size) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i * n + i] = 1;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double angle = 0.3 * static_cast<double>(1 + i + 2 * j);
      for (std::size_t k = 0; k < n; ++k) {
        const double a = matrix[i * n + k], b = matrix[j * n + k];
        matrix[i * n + k] = std::cos(angle) * a - std::sin(angle) * b;
        matrix[j * n + k] = std::sin(angle) * a + std::cos(angle) * b;
      }
    }
  }
  return Tensor::of<double>({1, size, size}, matrix).cast(f32);
}

template <class Form>
void check(const Case& c) {
  using Sizes = device::ScanSizes<Form>;
  constexpr device::ScanLayout kLayout = Sizes::kLayout;
  constexpr int N = Sizes::kState, H = Sizes::kUnits;
  const long long chunks = (c.steps + c.chunk - 1) / c.chunk, walks = chunks * c.places;
  const long long group = c.group > 0 ? c.group : chunks, groups = (chunks + group - 1) / group;
  std::vector<Tensor> inputs = {drawn({Form::weights, H, H}, c.scale / std::sqrt(float{H}), 1),
                                drawn({c.places, N}, c.initial, 3)};
  for (std::uint64_t i = 0; i < kLayout.values; ++i) {
    inputs.push_back(drawn({c.steps, c.places, H}, 0.5F, 4 + i));
  }
  if (c.turns) {
    inputs[0] = rotation(H);
    inputs[2] = Tensor::full(f32, {c.steps, c.places, H}, 1);
  }
  for (std::int64_t t = 0; c.forgets > 0 && t < c.steps; t += c.forgets) {
    for (std::size_t i = 2; i < inputs.size(); ++i) {
      std::fill_n(inputs[i].data<float>() + t * c.places * H, c.places * H, 0.0F);
    }
  }
  if (Form::adds) {
    inputs.push_back(drawn({c.steps, c.places, N}, c.b_scale, 2));
  }
  const float kUntouched = 12345;
  const auto floats = [=](long long count) {
    return std::vector<float>(static_cast<std::size_t>(count), kUntouched);
  };
  std::vector<float> before = floats(c.steps * c.places * N), last = floats(c.places * N),
                     carried = floats(walks * N), entered = floats(groups * c.places * N);
  const auto room_for_products = [&](long long count) {
    return std::vector<Four>(static_cast<std::size_t>(count * kLayout.product_floats() / 4));
  };
  std::vector<Four> products = room_for_products(walks),
                    joined = room_for_products(groups * c.places);
  device::ScanArguments<Form> a{.steps = c.steps,
                                .places = c.places,
                                .reverse = c.reverse,
                                .chunk = c.chunk,
                                .chunks = chunks,
                                .weights = inputs[0].data<float>(),
                                .b = Form::adds ? inputs.back().data<float>() : nullptr,
                                .initial = inputs[1].data<float>(),
                                .before = before.data(),
                                .last = last.data(),
                                .products = &products.data()->at[0],
                                .carried = carried.data(),
                                .group = group,
                                .groups = groups,
                                .joined = &joined.data()->at[0],
                                .entered = entered.data(),
                                .factors = {},
                                .coefficients = {}};
  for (std::size_t i = 0; i < kLayout.values; ++i) {
    a.coefficients[i] = inputs[2 + i].data<float>();
  }
  std::vector<std::vector<float>> factors(Form::weights, floats(c.steps * c.places * H));
  for (std::size_t k = 0; k < Form::weights; ++k) {
    a.factors[k] = factors[k].data();
  }
  const auto run = [](long long rows, int rows_of_block, int threads, int shared_floats,
                      const auto& kernel) {
    for (long long block = 0; block * rows_of_block < rows; ++block) {
      for (const auto schedule :
           {emulated::Schedule::first_warp_first, emulated::Schedule::last_warp_first}) {
        const float kNan = std::numeric_limits<float>::quiet_NaN();
        std::vector<Four> shared(static_cast<std::size_t>(shared_floats / 4),
                                 {{kNan, kNan, kNan, kNan}});
        const auto arrival = schedule == emulated::Schedule::first_warp_first
                                 ? emulated::Arrival::at_once
                                 : emulated::Arrival::when_waited_for;
        emulated::run_block({.threads = static_cast<unsigned>(threads),
                             .block = static_cast<unsigned>(block),
                             .schedule = schedule,
                             .arrival = arrival},
                            [&] { kernel(shared.data()); });
      }
    }
  };
  using device::kMultiplyWarps, device::kTileRows;
  constexpr int kInsideWarps = kLayout.inside_warps();
  if (chunks > 1) {
    run((chunks - 1) * c.places * kLayout.columns(), kTileRows * kLayout.tiles() * kMultiplyWarps,
        32 * kMultiplyWarps, kLayout.multiply_floats(),
        [&](Four* shared) { multiply_chunks(a, shared); });
    if (groups > 1) {
      run((groups - 1) * c.places, 1, kLayout.join_threads(), kLayout.join_floats(),
          [&](Four* shared) { join_chunks(a, shared); });
      run(c.places, 1, kLayout.across_threads(), kLayout.across_floats(),
          [&](Four* shared) { walk_groups(a, shared); });
    }
    run(groups * c.places, 1, kLayout.across_threads(), kLayout.across_floats(),
        [&](Four* shared) { walk_across(a, shared); });
  }
  run(walks, kTileRows * kInsideWarps, 32 * kInsideWarps, kLayout.inside_floats(),
      [&](Four* shared) { walk_inside(a, shared); });
  const std::vector<Tensor> want = wanted<Form>(inputs, c.reverse);
  expect_close(before, want[0], c.tolerance);
  expect_close(last, want[1], c.tolerance);
  for (std::size_t k = 0; k < Form::weights; ++k) {
    expect_close(factors[k], want[2 + k], c.tolerance);
  }
}

template <class Form>
void check_cases() {
  for (const Case& c : {Case{40, 3, 8, false}, Case{37, 2, 8, true}, Case{90, 1, 7, true},
                        Case{9, 5, 9, false}, Case{1, 2, 1, true},
                        Case{300, 2, 4, false, 1, 1, 1, 11}, Case{60, 3, 5, true, 1, 1, 1, 4}}) {
    SCOPED_TRACE(std::to_string(c.steps) + " steps, chunks of " + std::to_string(c.chunk));
    check<Form>(c);
  }
}

TEST(WeightedScanEmulation, OneWeight) { check_cases<Rnn>(); }
TEST(WeightedScanEmulation, WeightsAndADiagonal) { check_cases<Gru>(); }
TEST(WeightedScanEmulation, TwoParts) { check_cases<Lstm>(); }
TEST(WeightedScanEmulation, ManyUnits) { check_cases<Wide>(); }
TEST(WeightedScanEmulation, OneUnitMoreThanEight) { check_cases<Nine>(); }

// What fits_weighted_scan allows finds room in a block.
TEST(WeightedScanEmulation, SharedMemorySuffices) {
  for (int states = 1; states <= 2; ++states) {
    for (int weights = 1; weights <= 4; ++weights) {
      for (int units = 1; units <= 128; ++units) {
        const device::ScanLayout layout{units, states, weights, weights + 3, 1};
        WeightedForm form{.states = states, .products = {{0, 0}}};
        form.weight_to.resize(static_cast<std::size_t>(weights));
        if (fits_weighted_scan(form, units)) {
          EXPECT_LE(layout.multiply_floats(), device::kMostShared) << units << " x " << weights;
          EXPECT_LE(layout.inside_floats(), device::kMostShared) << units << " x " << weights;
          EXPECT_LE(layout.across_floats(), device::kMostShared) << units;
          EXPECT_TRUE(!layout.joins() || layout.join_floats() <= device::kMostShared) << units;
          EXPECT_LE(layout.tile_registers(), 144) << units;
        }
      }
    }
  }
}

// Rounding towards 0 would make states smaller by 5e-8 in every step.
TEST(WeightedScanEmulation, StatesThatTurn) {
  check<Nine>({4000, 1, 16, true, 1, 0, 1, 16, true, 5e-5});
  check<Twenty>({4000, 1, 16, true, 1, 0, 1, 16, true, 5e-5});
}

// A product over a chunk is beyond 1e38, while states, small at first, are not.
TEST(WeightedScanEmulation, ProductsBeyondTheRange) {
  check<Rnn>({110, 2, 100, false, 12, 0, 1e-36F});
  check<Rnn>({110, 1, 100, true, 12, 0, 0});  // all states are 0
  check<Rnn>({110, 2, 10, false, 12, 0, 1e-36F, 5});
}

// Products are 0 by a step that forgets what came before, however large they were until then.
TEST(WeightedScanEmulation, StepsThatForget) {
  check<Rnn>({.steps = 400, .places = 2, .chunk = 64, .reverse = true, .scale = 9, .forgets = 33});
  check<Gru>({.steps = 400, .places = 1, .chunk = 64, .scale = 5, .forgets = 33});
  check<Rnn>({.steps = 700, .places = 1, .chunk = 32, .scale = 9, .group = 5, .forgets = 31});
  check<Lstm>({.steps = 300, .places = 1, .chunk = 16, .scale = 5, .group = 4, .forgets = 30});
}

}  // namespace antichain::weighted_scan_emulation_test
