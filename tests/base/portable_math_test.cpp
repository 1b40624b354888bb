#include "antichain/base/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace antichain::portable::portable_math_test {

constexpr double kUnit = 0x1p-53;  // half of a unit of the last place of 1

TEST(PortableMath, LogarithmOfUniformNumbers) {
  std::mt19937_64 draw(1);
  EXPECT_EQ(log(1), 0);
  for (int i = 0; i < 100'000; ++i) {
    const double x = static_cast<double>((draw() >> (11 + i % 50)) + 1) * 0x1p-53;
    EXPECT_NEAR(log(x), std::log(x), 5 * kUnit * std::abs(std::log(x))) << x;
  }
}

TEST(PortableMath, WavesOfPartsOfATurn) {
  std::mt19937_64 draw(2);
  EXPECT_EQ(wave(0, true), 1);
  EXPECT_EQ(wave(0.25, false), 1);
  EXPECT_EQ(wave(0.5, true), -1);
  EXPECT_EQ(wave(0.75, false), -1);
  EXPECT_EQ(wave(0.5, false), 0);
  for (int i = 0; i < 100'000; ++i) {
    const double turns = static_cast<double>(draw() >> 11) * 0x1p-53;
    const long double angle = 2 * std::numbers::pi_v<long double> * turns;
    EXPECT_NEAR(wave(turns, false), static_cast<double>(std::sin(angle)), 2 * kUnit) << turns;
    EXPECT_NEAR(wave(turns, true), static_cast<double>(std::cos(angle)), 2 * kUnit) << turns;
  }
}

// So that a change of a bit, by this code or by a compiler, is seen.
TEST(PortableMath, HasTheseBits) {
  EXPECT_EQ(log(0.1), -0x1.26bb1bbb55515p+1);
  EXPECT_EQ(log(0x1p-53), -0x1.25e4f7b2737fap+5);
  EXPECT_EQ(wave(0.1, false), 0x1.2cf2304755a5ep-1);
  EXPECT_EQ(wave(0.7, true), -0x1.3c6ef372fe954p-2);
}

}  // namespace antichain::portable::portable_math_test
