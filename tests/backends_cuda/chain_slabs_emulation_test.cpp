// Products of a chain by matrices that pass through shared memory, run on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/backends_cuda/emulated_block.h"
//
#include "antichain/backends/cuda/device/chain_slabs.cuh"

namespace antichain::chain_slabs_emulation_test {

using device::ProductForm;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct alignas(16) FourFloats {
  float at[4];
};

// Memory that begins at a multiple of 16 bytes.
class Floats {
 public:
  explicit Floats(int count)
      : numbers_(static_cast<std::size_t>(count + 3) / 4, FourFloats{{kNan, kNan, kNan, kNan}}) {}
  float* data() { return &numbers_[0].at[0]; }

 private:
  std::vector<FourFloats> numbers_;
};

template <ProductForm kChosen>
struct FormOf {
  static constexpr ProductForm kForm = kChosen;
};

float number(int n) { return 0.3F * static_cast<float>(std::sin(0.7 * n)); }

// Multiplies rows by the matrices of some steps, one after the other; each lies `shift` elements
// behind a multiple of 16 bytes.
template <ProductForm kF, int kStages>
void check(emulated::Schedule schedule, emulated::Arrival arrival, int shift) {
  using Form = FormOf<kF>;
  constexpr int kSteps = 3, kPitch = device::row_pitch(kF.rows, 4);
  constexpr int kMatrix = kF.inner * kF.columns;
  Floats left(kF.inner * kPitch), matrices(kSteps * kMatrix + 4),
      sums(kF.splits() * kF.columns * kPitch), slabs(kStages * kF.floats()),
      out(kSteps * kF.columns * kPitch);
  for (int i = 0; i < kF.inner * kPitch; ++i) {
    left.data()[i] = number(i);
  }
  float* const matrix = matrices.data() + shift;
  for (int i = 0; i < kSteps * kMatrix; ++i) {
    matrix[i] = number(3 * i + 1);
  }
  emulated::run_block({.threads = kF.threads, .schedule = schedule, .arrival = arrival}, [&] {
    int fetched = 0, place = 0;
    const auto fetch = [&] {
      if (fetched < kSteps * kF.slabs()) {
        device::copy_slab<Form>(slabs.data() + fetched % kStages * kF.floats(),
                                matrix + fetched / kF.slabs() * kMatrix, fetched % kF.slabs());
      }
      device::end_copies();
      ++fetched;
    };
    for (int i = 0; i < kStages - 1; ++i) {
      fetch();
    }
    for (int step = 0; step < kSteps; ++step) {
      device::multiply_by_slabs<Form, kStages, kF.floats()>(out.data() + step * kF.columns * kPitch,
                                                            sums.data(), left.data(), slabs.data(),
                                                            place, fetch);
    }
    device::wait_for_copies<0>();
  });
  for (int step = 0; step < kSteps; ++step) {
    for (int row = 0; row < kF.rows; ++row) {
      for (int column = 0; column < kF.columns; ++column) {
        double want = 0;
        for (int k = 0; k < kF.inner; ++k) {
          const int at = kF.transposed ? column * kF.inner + k : k * kF.columns + column;
          want += static_cast<double>(left.data()[k * kPitch + row]) *
                  static_cast<double>(matrix[step * kMatrix + at]);
        }
        ASSERT_NEAR(out.data()[(step * kF.columns + column) * kPitch + row], want, 1e-4)
            << kF.rows << " rows, " << kF.inner << " x " << kF.columns << ", step " << step
            << ", row " << row << ", column " << column;
      }
    }
  }
}

template <int kRows, int kInner, int kColumns, int kThreads, int kSlabFloats, int kStages>
void check_both_ways() {
  for (const auto schedule :
       {emulated::Schedule::first_warp_first, emulated::Schedule::last_warp_first}) {
    for (const auto arrival : {emulated::Arrival::at_once, emulated::Arrival::when_waited_for}) {
      for (const int shift : {0, 1}) {
        check<ProductForm{kRows, kInner, kColumns, kThreads, false, kSlabFloats}, kStages>(
            schedule, arrival, shift);
        check<ProductForm{kRows, kInner, kColumns, kThreads, true, kSlabFloats}, kStages>(
            schedule, arrival, shift);
      }
    }
  }
}

TEST(ChainSlabs, OfOneMatrix) {
  check_both_ways<16, 8, 8, 128, 4096, 2>();
  check_both_ways<32, 64, 64, 128, 4096, 2>();
  check_both_ways<64, 5, 5, 128, 4096, 3>();
}
TEST(ChainSlabs, OfPartsOfMatrices) {
  check_both_ways<32, 40, 36, 64, 512, 3>();
  check_both_ways<8, 37, 50, 96, 512, 4>();
  check_both_ways<8, 20, 30, 64, 64, 2>();
}
TEST(ChainSlabs, OfFewRows) {
  check_both_ways<1, 70, 64, 128, 1024, 4>();
  check_both_ways<2, 33, 20, 64, 128, 2>();
  check_both_ways<4, 64, 100, 128, 1024, 3>();
}

// Lanes that read or write at the same time find what they want in different banks.
TEST(ChainSlabs, ColumnsOfTallRowsAreApart) {
  for (const int rows : {8, 16, 32, 64}) {
    const int pitch = device::row_pitch(rows, 4);
    EXPECT_EQ(pitch % 4, 0);
    unsigned banks = 0;
    for (int lane = 0; lane < 32; ++lane) {
      banks |= 1U << ((lane % 8 * pitch + lane / 8) % 32);
    }
    EXPECT_EQ(banks, 0xffffffffU) << rows;
  }
}

}  // namespace antichain::chain_slabs_emulation_test
