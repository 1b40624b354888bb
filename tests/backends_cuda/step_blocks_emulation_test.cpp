// Blocks of steps that a warp reads ahead, run on the host, lane by lane.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "tests/backends_cuda/emulated_block.h"
//
#include "antichain/backends/cuda/device/step_blocks.cuh"

namespace antichain::step_blocks_emulation_test {

struct alignas(16) FourNumbers {
  float at[4];
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Steps of a sequence with numbers between them that belong to others; they are there as `length`
// allows, and zeros behind them.
template <int kColumns>
void check_steps(int length, bool reverse, emulated::Arrival arrival) {
  constexpr int kStride = kColumns + 4;
  std::vector<FourNumbers> numbers(static_cast<std::size_t>(length * kStride + 4) / 4 + 1);
  float* const first = &numbers[0].at[0];
  for (int step = 0; step < length; ++step) {
    for (int n = 0; n < kStride; ++n) {
      first[step * kStride + n] = n < kColumns ? static_cast<float>(1000 * step + n) : kNan;
    }
  }
  using Blocks = device::StepBlocks<kColumns>;
  std::vector<FourNumbers> shared(Blocks::kFloats / 4 + 1, FourNumbers{{kNan, kNan, kNan, kNan}});
  std::vector<float> seen(static_cast<std::size_t>(length * kColumns), kNan);
  emulated::run_block({.arrival = arrival}, [&] {
    Blocks blocks(first + (reverse ? (length - 1) * kStride : 0), reverse ? -kStride : kStride,
                  &shared[0].at[0]);
    int left = length, fetched = 0, entered = 0;
    const auto fetch = [&] {
      blocks.fetch(fetched, left);
      device::end_copies();
      left -= device::kBlockSteps;
      fetched = (fetched + 1) % device::kBlocksHeld;
    };
    for (int i = 0; i < device::kBlocksHeld - 1; ++i) {
      fetch();
    }
    for (int done = 0; done < length; done += device::kBlockSteps) {
      device::wait_for_copies<device::kBlocksHeld - 2>();
      __syncwarp();
      fetch();
      const float* const values = blocks.at(entered);
      entered = (entered + 1) % device::kBlocksHeld;
      for (int n = 0; n < device::kBlockSteps; ++n) {
        for (int i = static_cast<int>(threadIdx.x); i < kColumns; i += 32) {
          if (done + n < length) {
            seen[static_cast<std::size_t>((done + n) * kColumns + i)] = values[n * kColumns + i];
          } else {
            EXPECT_EQ(values[n * kColumns + i], 0);
          }
        }
      }
      __syncwarp();
    }
    device::wait_for_copies<0>();
  });
  for (int step = 0; step < length; ++step) {
    const int from = reverse ? length - 1 - step : step;
    for (int n = 0; n < kColumns; ++n) {
      ASSERT_EQ(seen[static_cast<std::size_t>(step * kColumns + n)],
                static_cast<float>(1000 * from + n))
          << kColumns << " columns, " << length << " steps, step " << step << ", number " << n;
    }
  }
}

template <int... kColumns>
void check_columns() {
  for (const int length : {1, 15, 16, 17, 70}) {
    for (const bool reverse : {false, true}) {
      for (const auto arrival : {emulated::Arrival::at_once, emulated::Arrival::when_waited_for}) {
        (check_steps<kColumns>(length, reverse, arrival), ...);
      }
    }
  }
}

TEST(StepBlocks, OfWholePieces) { check_columns<4, 8, 12, 20, 36, 60, 80, 128, 132>(); }
TEST(StepBlocks, OfSingleNumbers) { check_columns<1, 2, 3, 5, 15, 31, 33, 70>(); }

// Steps of two blocks as they are stored, as those before each step and as those behind it, and
// nothing else.
template <int kColumns>
void check_stored(int steps, int stride, int shift, bool both) {
  std::vector<FourNumbers> held(device::kBlockSteps * 32 / 4);
  for (std::size_t i = 0; i < held.size() * 4; ++i) {
    held[i / 4].at[i % 4] = static_cast<float>(i);
  }
  constexpr float kUntouched = -1;
  const int all = device::kBlockSteps + steps;
  const std::size_t size = static_cast<std::size_t>((all + 1) * std::abs(stride) + 8) / 4 + 1;
  std::vector<FourNumbers> before(size, FourNumbers{{-1, -1, -1, -1}}), after = before;
  const int first = shift + (stride < 0 ? -stride * all : 0);
  emulated::run_block({}, [&] {
    device::StepStores<kColumns, 2> stores(
        {&before[0].at[0] + first, both ? &after[0].at[0] + first : nullptr}, {false, true},
        stride);
    stores.store(&held[0].at[0], true, device::kBlockSteps);
    stores.store(&held[0].at[0], false, steps);
  });
  for (const bool lags : {false, true}) {
    std::vector<float> want(size * 4, kUntouched);
    for (int step = lags ? 1 : 0; step < all && (both || !lags); ++step) {
      for (int n = 0; n < kColumns; ++n) {
        want[static_cast<std::size_t>(first + (step - (lags ? 1 : 0)) * stride + n)] =
            static_cast<float>(step % device::kBlockSteps * 32 + n);
      }
    }
    const float* const found = &(lags ? after : before)[0].at[0];
    EXPECT_EQ(std::vector<float>(found, found + want.size()), want)
        << kColumns << " columns, " << steps << " steps, stride " << stride << ", from " << shift;
  }
}

TEST(StepBlocks, AreStored) {
  for (const int steps : {0, 1, 15, 16}) {
    for (const int shift : {0, 1, 4}) {
      for (const bool both : {true, false}) {
        check_stored<20>(steps, 60, shift, both);
        check_stored<20>(steps, -60, shift, both);
        check_stored<20>(steps, 22, shift, both);
        check_stored<32>(steps, 32, shift, both);
        check_stored<5>(steps, 15, shift, both);
        check_stored<3>(steps, 3, shift, both);
      }
    }
  }
}

}  // namespace antichain::step_blocks_emulation_test
