// Both 16-bit formats against a rounding rule stated in double arithmetic, and float16 against the
// compiler's.
#include "antichain/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "antichain/base/philox.h"

namespace antichain::half_test {

struct Format {
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr Format kFloat16{5, 10}, kBfloat16{8, 7};

// Returns the value of a bit pattern by the definition of IEEE 754, section 3.4.
double decode(Format format, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1U << format.fraction_bits) - 1);
  const int exponent =
      static_cast<int>((bits >> format.fraction_bits) & ((1U << format.exponent_bits) - 1));
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  const double hidden = exponent == 0 ? 0 : std::ldexp(1, format.fraction_bits);
  return sign * std::ldexp(hidden + fraction,
                           std::max(exponent, 1) - format.bias() - format.fraction_bits);
}

// Rounds to the nearest multiple of the quantum at this magnitude; nearbyint() breaks ties to even.
double nearest(Format format, float value) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  const int exponent = std::max(std::ilogb(value), 1 - format.bias());
  const int quantum = exponent - format.fraction_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(double{value}, -quantum)), quantum);
  const double infinity = std::numeric_limits<double>::infinity();
  return std::abs(rounded) < std::ldexp(1, format.bias() + 1) ? rounded
                                                              : std::copysign(infinity, rounded);
}

// Returns every value of the format, the midpoints between neighbours, the floats next to either,
// the limits of float, and random bit patterns; each with both signs.
std::vector<float> samples(Format format) {
  std::vector<float> result;
  const auto add = [&](float value) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float near :
         {value, std::nextafter(value, infinity), std::nextafter(value, -infinity)}) {
      result.push_back(near);
      result.push_back(-near);
    }
  };
  for (std::uint32_t bits = 0; bits < 0x7FFF; ++bits) {
    const double value = decode(format, bits), next = decode(format, bits + 1);
    if (std::isfinite(value)) {
      add(static_cast<float>(value));
      // Above the largest value, the midpoint is where the format would go on.
      add(static_cast<float>(std::isfinite(next) ? value + (next - value) / 2
                                                 : value + (value - decode(format, bits - 1)) / 2));
    }
  }
  add(std::numeric_limits<float>::infinity());
  add(std::numeric_limits<float>::max());
  add(std::numeric_limits<float>::min());
  add(std::numeric_limits<float>::denorm_min());
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    for (const std::uint32_t word : philox({1, 2}, {i, 0, 0, 0})) {
      result.push_back(std::bit_cast<float>(word));
    }
  }
  return result;
}

template <class Half>
Half from_bits(std::uint32_t bits) {
  Half half;
  half.bits = static_cast<std::uint16_t>(bits);
  return half;
}

template <class Half>
void expect_widening_and_round_trip(Format format) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto value = static_cast<float>(from_bits<Half>(bits));
    const double expected = decode(format, bits);
    const std::uint16_t back = Half(value).bits;
    if (std::isnan(expected)) {
      const std::uint32_t quiet = 1U << (format.fraction_bits - 1);
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(back, bits | quiet);
    } else {
      ASSERT_EQ(double{value}, expected) << bits;
      ASSERT_EQ(back, bits);
    }
  }
}

template <class Half>
void expect_rounding(Format format) {
  for (const float value : samples(format)) {
    const Half half(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(float(half)));
    } else {
      ASSERT_EQ(double{float(half)}, nearest(format, value)) << std::hexfloat << value;
    }
    ASSERT_EQ(std::signbit(float(half)), std::signbit(value)) << std::hexfloat << value;
  }
}

TEST(Float16, EveryBitPatternWidensAndRoundTrips) {
  expect_widening_and_round_trip<float16>(kFloat16);
}

TEST(Bfloat16, EveryBitPatternWidensAndRoundTrips) {
  expect_widening_and_round_trip<bfloat16>(kBfloat16);
}

TEST(Float16, RoundsToNearestEven) { expect_rounding<float16>(kFloat16); }

TEST(Bfloat16, RoundsToNearestEven) { expect_rounding<bfloat16>(kBfloat16); }

#ifdef __FLT16_MAX__
TEST(Float16, AgreesWithTheCompiler) {
  for (const float value : samples(kFloat16)) {
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    ASSERT_EQ(float16(value).bits, expected) << std::hexfloat << value;
  }
}
#endif

TEST(Half, ComparesAsNumbers) {
  EXPECT_EQ(float16(0.0F), float16(-0.0F));
  EXPECT_EQ(bfloat16(0.0F), bfloat16(-0.0F));
  EXPECT_NE(float16(1.0F), float16(2.0F));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(float16(nan), float16(nan));
  EXPECT_NE(bfloat16(nan), bfloat16(nan));
}

TEST(Half, IsKnownAtCompileTime) {
  static_assert(float16(1.0F).bits == 0x3C00 && float16(65504.0F).bits == 0x7BFF);
  static_assert(bfloat16(1.0F).bits == 0x3F80 && float(bfloat16(-2.0F)) == -2.0F);
  static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);
}

}  // namespace antichain::half_test
