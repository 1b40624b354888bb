// The two 16-bit floating-point formats, as storage: arithmetic is done in float.
#pragma once

#include <bit>
#include <cstdint>

namespace antichain {

/// Holds the upper half of a float: 8 exponent bits, 7 fraction bits, rounded to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(round(value)) {}
  constexpr explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) { return float(a) == float(b); }

 private:
  static constexpr std::uint16_t round(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if (value != value) {
      return static_cast<std::uint16_t>((word >> 16) | 0x40);  // keep it a quiet NaN
    }
    return static_cast<std::uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);
  }
};

/// Holds an IEEE 754 binary16: 5 exponent bits, 10 fraction bits, rounded to nearest even.
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() = default;
  constexpr explicit float16(float value) : bits(round(value)) {}
  constexpr explicit operator float() const { return widen(bits); }
  friend constexpr bool operator==(float16 a, float16 b) { return float(a) == float(b); }

 private:
  static constexpr std::uint16_t round(float value);
  static constexpr float widen(std::uint16_t bits);
};

constexpr std::uint16_t float16::round(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000);
  const std::uint32_t magnitude = word & 0x7FFFFFFF;
  constexpr std::uint32_t kInfinity = 0x7F800000;        // float infinity
  constexpr std::uint32_t kOverflow = 0x477FF000;        // 65520: rounds up to infinity
  constexpr std::uint32_t kSmallestNormal = 0x38800000;  // 2^-14
  if (magnitude > kInfinity) {
    // Keep it a quiet NaN, with the upper bits of its payload, as processors do.
    return static_cast<std::uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x1FF));
  }
  if (magnitude >= kOverflow) {
    return static_cast<std::uint16_t>(sign | 0x7C00);
  }
  if (magnitude < kSmallestNormal) {
    // Adding 0.5 puts the subnormal's 10 fraction bits, rounded, at the end of the float.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + odd) >> 13));
}

constexpr float float16::widen(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00) {
    return std::bit_cast<float>(sign | 0x7F800000 | ((magnitude & 0x3FF) << 13));
  }
  if (magnitude < 0x400) {
    constexpr float kSubnormalUnit = 5.9604644775390625e-8F;  // 2^-24
    const float value = static_cast<float>(magnitude) * kSubnormalUnit;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
}

}  // namespace antichain
