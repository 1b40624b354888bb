// Products with one long axis, run on the host: every index and every lane is that of the GPU, for
// the forms that are chosen there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/backends_cuda/emulated_block.h"
//
#include "antichain/backends/cuda/device/tall_product.cuh"
#include "antichain/backends/cuda/device/tall_reduction.cuh"
#include "antichain/backends/cuda/products/tall_forms.h"

namespace antichain::tall_emulation_test {

using device::FourNumbers;

constexpr float kUntouched = 12345;
constexpr std::size_t kBehind = 64;  // numbers behind a result that nobody may write

std::size_t at(long long index) { return static_cast<std::size_t>(index); }

// Numbers that begin some elements behind an address that is a multiple of 16 bytes.
class Numbers {
 public:
  Numbers(long long count, long long shift, unsigned seed)
      : shift_(shift), fours_(at(count + shift) / 4 + 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> draw;
    for (long long i = 0; i < count; ++i) {
      data()[i] = draw(generator);
    }
  }
  float* data() { return &fours_[0].at[0] + shift_; }

 private:
  long long shift_;
  std::vector<FourNumbers> fours_;
};

const std::vector<bool> kBothOrders = {true, false}, kInOrder = {true};

// Every block in orders of warps, with copies that come at once or late. What was not written to
// shared memory must not matter.
template <class Kernel>
void run(long long blocks, unsigned threads, int shared_floats, const std::vector<bool>& orders,
         const Kernel& kernel) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (long long block = 0; block < blocks; ++block) {
    for (const bool in_order : orders) {
      std::vector<FourNumbers> shared(at(shared_floats) / 4, FourNumbers{{kNan, kNan, kNan, kNan}});
      emulated::run_block(
          {.threads = threads,
           .block = static_cast<unsigned>(block),
           .schedule = in_order ? emulated::Schedule::first_warp_first
                                : emulated::Schedule::last_warp_first,
           .arrival = in_order ? emulated::Arrival::at_once : emulated::Arrival::when_waited_for},
          [&] { kernel(shared.data()); });
    }
  }
}

void expect_close(const std::vector<float>& found, const std::vector<double>& want,
                  const std::vector<double>& sizes) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(found[i], want[i], 1e-6 * sizes[i]) << i;
  }
  for (std::size_t i = want.size(); i < found.size(); ++i) {
    ASSERT_EQ(found[i], kUntouched) << i;
  }
}

// The matrices of one side of a sum.
class Side {
 public:
  Side(const device::TallSources& sources, bool along, long long count, long long shift,
       unsigned seed)
      : sources_(sources), along_(along), count_(count) {
    for (int i = 0; i < sources.count(); ++i) {
      matrices_.emplace_back(sources.widths[i] * count, shift, seed + static_cast<unsigned>(i));
    }
  }

  void give(const float** addresses) {
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      addresses[i] = matrices_[i].data();
    }
  }
  long long aligned(long long shift) const {
    return shift == 0 && (!along_ || count_ % 4 == 0) ? (1LL << matrices_.size()) - 1 : 0;
  }
  double operator()(long long step, int column) {
    int source = 0;
    while (source < sources_.count() && column >= sources_.widths[source]) {
      column -= sources_.widths[source++];
    }
    if (source == sources_.count()) {
      return 1;
    }
    const int width = sources_.widths[source];
    return double{
        matrices_[at(source)].data()[along_ ? column * count_ + step : step * width + column]};
  }

 private:
  device::TallSources sources_;
  bool along_;
  long long count_;
  std::vector<Numbers> matrices_;
};

template <device::TallReductionForm kForm>
void check_reduction(long long count, long long shift) {
  constexpr int kRows = kForm.rows(), kColumns = kForm.columns();
  SCOPED_TRACE(testing::Message() << kRows << " by " << kColumns << ", " << count);
  constexpr long long kResults = kRows * kColumns;
  Side a(kForm.left, kForm.along_a, count, shift, 1),
      b(kForm.right, kForm.along_b, count, shift, 11);
  const long long tiles = (count + kForm.tile - 1) / kForm.tile, parts = std::min(tiles, 3LL);
  std::vector<float> found(at(parts * kResults) + kBehind, kUntouched),
      out(at(kResults) + kBehind, kUntouched);
  device::TallReductionArguments arguments{.count = count,
                                           .tiles = tiles,
                                           .parts = parts,
                                           .found = found.data(),
                                           .out = out.data(),
                                           .aligned_a = a.aligned(shift),
                                           .aligned_b = b.aligned(shift),
                                           .a = {},
                                           .b = {}};
  a.give(arguments.a);
  b.give(arguments.b);
  run(parts, device::TallReductionForm::kThreads, kForm.shared_floats(), kBothOrders,
      [&](FourNumbers* shared) { device::sum_tiles<kForm>(arguments, &shared[0].at[0]); });
  constexpr int kTogether = device::kJoinedTogether;
  run((kResults + kTogether - 1) / kTogether, device::kJoiningThreads,
      2 * kTogether * (kTogether + 1), kResults > kTogether ? kInOrder : kBothOrders,
      [&](FourNumbers* shared) {
        device::join_parts<kForm>(arguments, reinterpret_cast<double*>(shared));
      });
  std::vector<double> want, sizes;
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kColumns; ++n) {
      double sum = 0, size = 0;
      for (long long k = 0; k < count; ++k) {
        const double product = a(k, m) * b(k, n);
        sum += product;
        size += std::abs(product);
      }
      want.push_back(sum);
      sizes.push_back(size);
    }
  }
  expect_close(out, want, sizes);
  ASSERT_EQ(found[at(parts * kResults)], kUntouched);
}

// Tiles of long sums, several for a block, the last of which is not whole.
template <std::int64_t rows, std::int64_t columns>
void check_reductions() {
  constexpr std::int64_t kCount = 160'000;
  constexpr auto kLeft = cuda::one_source(rows), kRight = cuda::one_source(columns);
  constexpr auto kBy = cuda::choose_tall_reduction(kLeft, kRight, kCount, false, false);
  check_reduction<kBy>(7 * kBy.tile - 5, 0);
  check_reduction<kBy>(4 * kBy.tile, 1);
  constexpr auto kAlong = cuda::choose_tall_reduction(kLeft, kRight, kCount, true, true);
  check_reduction<kAlong>(4 * kAlong.tile - 4, 0);
  check_reduction<kAlong>(2 * kAlong.tile + 1, 0);
  constexpr auto kMixed = cuda::choose_tall_reduction(kLeft, kRight, 4096, false, true);
  check_reduction<kMixed>(3 * kMixed.tile - 8, 0);
}

TEST(TallEmulation, SumsOfOneResult) { check_reductions<1, 1>(); }
TEST(TallEmulation, SumsOfARow) { check_reductions<1, 20>(); }
TEST(TallEmulation, SumsOfAColumn) { check_reductions<20, 1>(); }
TEST(TallEmulation, SumsOfRecurrentLayers) {
  check_reductions<20, 20>();
  check_reductions<60, 20>();
}
TEST(TallEmulation, SumsOfOddSizes) {
  check_reductions<3, 33>();
  check_reductions<33, 3>();
}
TEST(TallEmulation, SumsOfManyResults) {
  constexpr auto kWide = cuda::choose_tall_reduction({{64}}, {{32}}, 160'000, false, true);
  check_reduction<kWide>(4 * kWide.tile - 4, 0);
  constexpr auto kWidest = cuda::choose_tall_reduction({{61}}, {{64}}, 160'000, false, false);
  check_reduction<kWidest>(3 * kWidest.tile - 1, 0);
}

using Columns = device::TallSources;

// Several matrices at once: tiles in which some are copied 16 bytes at a time and others are not,
// with a column of ones.
template <device::TallSources left, device::TallSources right>
void check_joint_reduction() {
  constexpr auto kForm = cuda::choose_tall_reduction(left, right, 160'000, false, false);
  check_reduction<kForm>(7 * kForm.tile - 5, 0);
  check_reduction<kForm>(2 * kForm.tile, 1);
  constexpr auto kShort = cuda::choose_tall_reduction(left, right, 3, false, false);
  check_reduction<kShort>(3, 0);
}

TEST(TallEmulation, JointSumsOfRecurrentLayers) {
  check_joint_reduction<Columns{{20}}, Columns{{20, 1}, true}>();
  check_joint_reduction<Columns{{20, 20, 20, 20}}, Columns{{20, 1}, true}>();
}
TEST(TallEmulation, JointSumsOfOddSizes) {
  check_joint_reduction<Columns{{3, 4}}, Columns{{8, 5, 12}, false}>();
  check_joint_reduction<Columns{{16}}, Columns{{33}, true}>();
  check_joint_reduction<Columns{{4, 8}}, Columns{{16}, false}>();
}
TEST(TallEmulation, JointSumsOfRowsAlone) {
  check_joint_reduction<Columns{{20, 3}}, Columns{{}, true}>();
}
TEST(TallEmulation, JointSumsOfManyResults) {
  constexpr auto kForm =
      cuda::choose_tall_reduction({{32, 64}}, {{60, 3}, true}, 160'000, false, false);
  check_reduction<kForm>(3 * kForm.tile - 1, 0);
}

template <device::TallProductForm kForm>
void check_product(long long count, long long shift) {
  SCOPED_TRACE(testing::Message() << kForm.inner << " by " << kForm.columns << ", " << count);
  const long long inner = kForm.inner, columns = kForm.columns;
  Numbers a(count * inner, shift, 1), b(inner * columns, shift, 2), bias(columns, 0, 3);
  const long long tiles = (count + kForm.tile() - 1) / kForm.tile();
  Numbers memory(count * columns + static_cast<long long>(kBehind), shift, 4);
  std::fill_n(memory.data(), at(count * columns) + kBehind, kUntouched);
  const device::TallProductArguments arguments{.count = count,
                                               .tiles = tiles,
                                               .blocks = std::min(tiles, 2LL),
                                               .aligned_a = shift == 0,
                                               .aligned_out = shift == 0,
                                               .a = a.data(),
                                               .b = b.data(),
                                               .bias = kForm.bias ? bias.data() : nullptr,
                                               .out = memory.data()};
  run(arguments.blocks, device::TallProductForm::kThreads, kForm.shared_floats(), kBothOrders,
      [&](FourNumbers* shared) { device::multiply_tiles<kForm>(arguments, shared); });
  std::vector<double> want, sizes;
  for (long long k = 0; k < count; ++k) {
    for (long long n = 0; n < columns; ++n) {
      double sum = kForm.bias ? double{bias.data()[n]} : 0, size = std::abs(sum);
      for (long long m = 0; m < inner; ++m) {
        const double product =
            double{a.data()[k * inner + m]} *
            double{b.data()[kForm.transpose_b ? n * inner + m : m * columns + n]};
        sum += product;
        size += std::abs(product);
      }
      want.push_back(kForm.relu ? std::max(sum, 0.0) : sum);
      sizes.push_back(size);
    }
  }
  expect_close({memory.data(), memory.data() + count * columns + kBehind}, want, sizes);
}

template <std::int64_t inner, std::int64_t columns>
void check_products() {
  constexpr auto kPlain = cuda::choose_tall_product(1'600'000, inner, columns, {});
  check_product<kPlain>(5 * kPlain.tile() - 3, 0);
  check_product<kPlain>(2 * kPlain.tile() + 1, 1);
  constexpr auto kAll = cuda::choose_tall_product(20'000, inner, columns, {true, true, true});
  check_product<kAll>(4 * kAll.tile(), 0);
  constexpr auto kAdding = cuda::choose_tall_product(160'000, inner, columns, {false, true, false});
  check_product<kAdding>(3 * kAdding.tile() - 1, 0);
}

TEST(TallEmulation, ProductsWithOneColumn) {
  check_products<1, 1>();
  check_products<1, 20>();
  check_products<20, 1>();
}
TEST(TallEmulation, ProductsOfRecurrentLayers) {
  check_products<20, 20>();
  check_products<20, 60>();
  check_products<60, 20>();
}
TEST(TallEmulation, ProductsOfOddSizes) {
  check_products<3, 33>();
  check_products<33, 3>();
  check_products<30, 34>();
}
TEST(TallEmulation, ProductsOfWideRows) {
  check_products<64, 64>();
  check_products<32, 61>();
}

// What is not a number stays one behind relu; rows beside it are not touched by it.
TEST(TallEmulation, NotANumberStays) {
  constexpr auto kForm = cuda::choose_tall_product(20'000, 5, 7, {false, false, true});
  constexpr long long kCount = kForm.tile() + 1, kRow = 3;
  Numbers a(kCount * 5, 0, 1), b(5 * 7, 0, 2), out(kCount * 7, 0, 3);
  a.data()[kRow * 5 + 4] = std::numeric_limits<float>::quiet_NaN();
  const device::TallProductArguments arguments{.count = kCount,
                                               .tiles = 2,
                                               .blocks = 1,
                                               .aligned_a = 1,
                                               .aligned_out = 1,
                                               .a = a.data(),
                                               .b = b.data(),
                                               .bias = nullptr,
                                               .out = out.data()};
  run(1, device::TallProductForm::kThreads, kForm.shared_floats(), kBothOrders,
      [&](FourNumbers* shared) { device::multiply_tiles<kForm>(arguments, shared); });
  for (long long i = 0; i < kCount * 7; ++i) {
    ASSERT_EQ(std::isnan(out.data()[i]), i / 7 == kRow) << i;
  }
}

}  // namespace antichain::tall_emulation_test
