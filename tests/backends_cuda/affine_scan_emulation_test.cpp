// The kernels of affine scans, run on the host: every index and every lane is that of the GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/backends_cuda/emulated_block.h"
//
#include "antichain/backends/cuda/device/affine_columns.cuh"
#include "antichain/backends/cuda/device/affine_narrow.cuh"
#include "antichain/backends/cuda/device/affine_wide.cuh"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"

namespace antichain::affine_scan_emulation_test {

using device::Piece;

struct Case {
  std::int64_t steps, places, chunk;
  bool reverse = false;
  double scale = 1;                 // of matrices: below 1 states shrink, above they grow
  double b_scale = 1, initial = 1;  // of what is added, and of the first state
};

// Chunks that divide the steps and that do not, one step, one chunk, more walks than a block has.
const Case kCases[] = {{40, 3, 8},
                       {37, 2, 8, true},
                       {90, 1, 7, true},
                       {9, 5, 9},
                       {1, 2, 1},
                       {6, 33, 1, true},
                       {60, 2, 16, false, 2},
                       {50, 2, 12, true, 0},
                       {64, 1, 5, false, 0.3}};

template <class T>
struct Values {
  std::vector<T> a, b, initial;
  std::vector<double> before, last;  // that are wanted
};

template <class T>
std::vector<T> drawn(std::int64_t count, double scale, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> draw(0, 1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    value = static_cast<T>(scale * draw(generator));
  }
  return values;
}

// Numbers, and what the op's kernel on the CPU makes of them, step by step in f64. A size of 0 says
// diagonals.
template <class T>
Values<T> values_for(const Case& c, std::int64_t size, bool transposed) {
  const bool dense = size > 0;
  const double root = std::sqrt(static_cast<double>(dense ? size : 1));
  const std::int64_t width = c.places * (dense ? size : 1), entries = width * (dense ? size : 1);
  Values<T> values{drawn<T>(c.steps * entries, c.scale / root, 1),
                   drawn<T>(c.steps * width, c.b_scale, 2),
                   drawn<T>(width, c.initial, 3),
                   {},
                   {}};
  Session session;
  Graph graph = session.graph();
  const auto given = [&](const std::vector<T>& numbers, Shape shape) {
    return constant(graph, Tensor::of<T>(shape, numbers).cast(f64));
  };
  const AffineScan found =
      dense ? affine_scan(given(values.a, {c.steps, c.places, size, size}),
                          given(values.b, {c.steps, c.places, size}),
                          given(values.initial, {c.places, size}),
                          {.reverse = c.reverse, .transposed = transposed, .algorithm = "serial"})
            : affine_scan(given(values.a, {c.steps, c.places}),
                          given(values.b, {c.steps, c.places}), given(values.initial, {c.places}),
                          {.reverse = c.reverse, .algorithm = "serial"});
  const std::vector<Tensor> results = session.compile({found.before, found.last})({}).tensors();
  values.before = results[0].to_vector<double>();
  values.last = results[1].to_vector<double>();
  return values;
}

template <class T>
void expect_close(const std::vector<T>& found, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(found.size(), want.size());
  double largest = 1e-300;
  for (const double value : want) {
    largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(found[i]), want[i], tolerance * largest) << i;
  }
}
template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 2e-5 : 1e-12;

// What a run writes to; pieces, so that it begins where memory of the GPU does.
template <class T>
class Memory {
 public:
  explicit Memory(std::int64_t numbers)
      : count_(static_cast<std::size_t>(numbers)), pieces_(count_ / (16 / sizeof(T)) + 1) {
    std::fill_n(data(), count_, static_cast<T>(12345));
  }
  T* data() { return reinterpret_cast<T*>(pieces_.data()); }
  std::vector<T> numbers() { return {data(), data() + count_}; }

 private:
  std::size_t count_;
  std::vector<Piece<T>> pieces_;
};

// Runs all blocks: in some the first warp is the fastest and copies are late, in others the last
// one is and they are at once.
template <class T, class F>
void run_blocks(std::int64_t blocks, unsigned threads, std::int64_t shared_pieces, F kernel) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::vector<Piece<T>> shared(static_cast<std::size_t>(shared_pieces),
                                 Piece<T>{{std::numeric_limits<T>::quiet_NaN()}});
    const bool in_order = block % 2 == 0;
    emulated::run_block(
        {.threads = threads,
         .block = static_cast<unsigned>(block),
         .schedule =
             in_order ? emulated::Schedule::first_warp_first : emulated::Schedule::last_warp_first,
         .arrival = in_order ? emulated::Arrival::when_waited_for : emulated::Arrival::at_once},
        [&] { kernel(shared.data()); });
  }
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T, int N, bool kTransposed>
void check_narrow(const Case& c, bool aligned = true) {
  constexpr device::NarrowSizes s{N, sizeof(T)};
  const Values<T> values = values_for<T>(c, N, kTransposed);
  const std::int64_t chunks = divided_up(c.steps, c.chunk), walks = chunks * c.places,
                     of_a = static_cast<std::int64_t>(values.a.size());
  Memory<T> a(of_a + 1), before(c.steps * c.places * N), last(c.places * N),
      products(walks * s.record() * s.piece()), carried(walks * N);
  T* const begin = a.data() + (aligned ? 0 : 1);
  std::copy(values.a.begin(), values.a.end(), begin);
  const device::NarrowScan<T> scan{{c.steps, c.places, c.reverse, c.chunk, chunks},
                                   aligned,
                                   begin,
                                   values.b.data(),
                                   values.initial.data(),
                                   before.data(),
                                   last.data(),
                                   products.data(),
                                   carried.data()};
  const auto run = [](std::int64_t count, int lanes, int shared_bytes, auto kernel) {
    run_blocks<T>(divided_up(count * lanes, device::kScanThreads), device::kScanThreads,
                  shared_bytes / 16, kernel);
  };
  if (chunks > 1) {
    run(walks - c.places, s.product_lanes(), s.product_shared_bytes(),
        [&](Piece<T>* shared) { device::multiply_chunks<T, N, kTransposed>(scan, shared); });
    run(c.places, s.walk_lanes(), s.walk_shared_bytes(),
        [&](Piece<T>* shared) { device::walk_across<T, N>(scan, shared); });
  }
  run(walks, s.walk_lanes(), s.walk_shared_bytes(),
      [&](Piece<T>* shared) { device::walk_inside<T, N, kTransposed>(scan, shared); });
  expect_close(before.numbers(), values.before, kTolerance<T>);
  expect_close(last.numbers(), values.last, kTolerance<T>);
}

template <class T, bool kTransposed>
void check_wide(const Case& c, std::int64_t size) {
  const Values<T> values = values_for<T>(c, size, kTransposed);
  const std::int64_t chunks = divided_up(c.steps, c.chunk), walks = chunks * c.places,
                     count = walks - c.places, tiles = divided_up(size, device::kTile);
  Memory<T> before(c.steps * c.places * size), last(c.places * size), product(count * size * size),
      next(count * size * size), added(count * size), carried(walks * size);
  Memory<int> exponents(count), largest(c.chunk * count);
  device::WideScan<T> scan{{c.steps, c.places, c.reverse, c.chunk, chunks},
                           size,
                           0,
                           values.a.data(),
                           values.b.data(),
                           values.initial.data(),
                           before.data(),
                           last.data(),
                           product.data(),
                           next.data(),
                           added.data(),
                           exponents.data(),
                           largest.data(),
                           carried.data()};
  const auto run = [](std::int64_t blocks, std::int64_t shared_numbers, auto kernel) {
    run_blocks<T>(blocks, device::kWideThreads, shared_numbers / (16 / sizeof(T)) + 1, kernel);
  };
  const std::int64_t plain = device::wide_walk_numbers(static_cast<int>(size), false),
                     walk = device::wide_walk_numbers(static_cast<int>(size), kTransposed);
  if (chunks > 1) {
    run(divided_up(count * size * size, device::kWideThreads), 0,
        [&](Piece<T>*) { device::begin_products<T, kTransposed>(scan); });
    for (scan.step = 1; scan.step < c.chunk; ++scan.step) {
      std::swap(scan.product, scan.next);
      run(count * tiles * tiles, device::kTileNumbers,
          [&](Piece<T>* shared) { device::multiply_step<T, kTransposed>(scan, shared); });
    }
    std::swap(scan.product, scan.next);
    run(count, walk,
        [&](Piece<T>* shared) { device::walk_from_zeros<T, kTransposed>(scan, shared); });
    run(c.places, plain, [&](Piece<T>* shared) { device::walk_across<T>(scan, shared); });
  }
  run(walks, walk, [&](Piece<T>* shared) { device::walk_inside<T, kTransposed>(scan, shared); });
  expect_close(before.numbers(), values.before, kTolerance<T>);
  expect_close(last.numbers(), values.last, kTolerance<T>);
}

template <class T>
void check_columns(const Case& c) {
  const Values<T> values = values_for<T>(c, 0, false);
  const std::int64_t chunks = divided_up(c.steps, c.chunk), walks = chunks * c.places,
                     count = walks - c.places;
  Memory<T> before(c.steps * c.places), last(c.places), factors(count), added(count),
      carried(walks);
  Memory<int> exponents(count);
  const device::ColumnScan<T> scan{{c.steps, c.places, c.reverse, c.chunk, chunks},
                                   values.a.data(),
                                   values.b.data(),
                                   values.initial.data(),
                                   before.data(),
                                   last.data(),
                                   factors.data(),
                                   added.data(),
                                   exponents.data(),
                                   carried.data()};
  const auto run = [](std::int64_t threads, auto kernel) {
    run_blocks<T>(divided_up(threads, device::kScanThreads), device::kScanThreads, 0,
                  [&](Piece<T>*) { kernel(); });
  };
  if (chunks > 1) {
    run(count, [&] { device::multiply_chunks(scan); });
    run(c.places, [&] { device::walk_across(scan); });
  }
  run(walks, [&] { device::walk_inside(scan); });
  expect_close(before.numbers(), values.before, kTolerance<T>);
  expect_close(last.numbers(), values.last, kTolerance<T>);
}

template <class F>
void for_cases(F check) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message()
                 << c.steps << " steps, chunks of " << c.chunk << ", scale " << c.scale);
    check(c);
  }
}

template <class T, int N>
void check_narrow_cases() {
  SCOPED_TRACE(testing::Message() << N << " x " << N);
  for_cases([](const Case& c) {
    check_narrow<T, N, false>(c);
    check_narrow<T, N, true>(c);
  });
}

TEST(AffineScanEmulation, NarrowMatrices) {
  check_narrow_cases<float, 1>();
  check_narrow_cases<float, 2>();
  check_narrow_cases<float, 5>();
  check_narrow_cases<float, 16>();
  check_narrow_cases<float, 20>();
  check_narrow_cases<float, 32>();
}

TEST(AffineScanEmulation, NarrowMatricesOfDoubles) {
  check_narrow_cases<double, 3>();
  check_narrow_cases<double, 20>();
}

// A view of something else may begin anywhere.
TEST(AffineScanEmulation, MatricesThatAreNotAligned) {
  check_narrow<float, 8, false>({30, 2, 7}, false);
  check_narrow<double, 4, true>({30, 2, 7}, false);
}

TEST(AffineScanEmulation, WideMatrices) {
  const Case few[] = {{17, 2, 5}, {12, 1, 4, true}, {5, 2, 5}, {12, 1, 6, false, 3}};
  for (const std::int64_t size : {33, 70}) {
    for (const Case& c : few) {
      SCOPED_TRACE(testing::Message() << size << ": " << c.steps << " steps");
      check_wide<float, false>(c, size);
      check_wide<float, true>(c, size);
      check_wide<double, true>(c, size);
    }
  }
  check_wide<double, false>({9, 1, 4}, 130);
}

TEST(AffineScanEmulation, Diagonals) {
  for_cases([](const Case& c) {
    check_columns<float>(c);
    check_columns<double>(c);
  });
  check_columns<float>({500, 150, 100});
}

// A product over a chunk is beyond the range of its type, while states, small at first, are not; or
// they are all 0.
TEST(AffineScanEmulation, ProductsBeyondTheRange) {
  for (const double initial : {1e-36, 0.0}) {
    check_narrow<float, 6, false>({52, 2, 45, false, 20, 0, initial});
    check_narrow<float, 6, true>({52, 2, 45, true, 20, 0, initial});
    check_wide<float, false>({52, 1, 45, false, 20, 0, initial}, 34);
    check_columns<float>({75, 3, 70, true, 10, 0, initial});
    check_columns<double>({700, 3, 690, true, 10, 0, initial * 1e-250});
  }
  check_narrow<double, 6, false>({420, 1, 400, false, 22, 0, 1e-300});
  // And where they shrink as far.
  check_narrow<float, 6, false>({120, 1, 100, false, 1e-2, 1});
  check_columns<float>({120, 3, 100, false, 1e-3, 1});
}

}  // namespace antichain::affine_scan_emulation_test
