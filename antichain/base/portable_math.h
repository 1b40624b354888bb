// Logarithm, sine and cosine by additions, multiplications and divisions alone, so that they have
// the same bits on every CPU and GPU: libraries differ in the last one. Sources that use them are
// compiled without contraction to fused multiply-adds.
#pragma once

#include <bit>
#include <cstdint>

#include "antichain/base/host_device.h"

namespace antichain::portable {

// 1, 1/3, 1/5, ...
struct OddInverses {
  double of[13];
  constexpr OddInverses() : of() {
    for (int k = 0; k < 13; ++k) {
      of[k] = 1.0 / (2 * k + 1);
    }
  }
};
// By which terms of a series for sine or cosine differ from the ones before: 1 / (n (n - 1)).
struct WaveInverses {
  double of[11];
  constexpr explicit WaveInverses(int first) : of() {
    for (int k = 1; k < 11; ++k) {
      of[k] = 1.0 / ((2 * k + first) * (2 * k + first - 1));
    }
  }
};

/// Returns the natural logarithm of a positive normal number, within two units of the last place.
/// With x = 2^e m and s = (m - 1) / (m + 1): log m = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172.
ANTICHAIN_HOST_DEVICE inline double log(double x) {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1,
                          kOne = std::uint64_t{1023} << 52;
  constexpr double kSqrtTwo = 1.4142135623730951;
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr OddInverses kInverses;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  double m = std::bit_cast<double>((bits & kMantissa) | kOne);
  if (m > kSqrtTwo) {
    m *= 0.5;
    exponent += 1;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 0;
  for (int k = 12; k >= 0; --k) {
    sum = sum * z + kInverses.of[k];
  }
  return exponent * kLn2High + (2 * s * sum + exponent * kLn2Low);
}

/// Returns the sine or cosine of a part of a full turn, in [0, 1).
ANTICHAIN_HOST_DEVICE inline double wave(double turns, bool cosine) {
  constexpr double kHalfPi = 1.5707963267948966;
  constexpr WaveInverses kCosine(0), kSine(1);
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): turns are not negative
  const auto quarter = static_cast<int>(turns * 4 + 0.5);
  const double x = (turns * 4 - quarter) * kHalfPi, z = x * x;  // within an eighth of a turn
  // Taylor: the sine's terms are x^(2k+1) / (2k+1)!, the cosine's x^2k / (2k)!.
  const bool odd = (quarter % 2 == 1) == cosine;  // whether it is a sine of x
  double sum = 1;
  for (int k = 10; k >= 1; --k) {
    sum = 1 - sum * z * (odd ? kSine.of[k] : kCosine.of[k]);
  }
  const double value = odd ? x * sum : sum;
  const int half = (quarter + (cosine ? 1 : 0)) % 4;
  return half >= 2 ? -value : value;
}

}  // namespace antichain::portable
