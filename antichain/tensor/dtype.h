// Element types, sets of them, and the one place where a run-time type becomes a C++ type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "antichain/tensor/half.h"

namespace antichain {

enum class DType : std::uint8_t { f32, f64, bf16, f16, i8, i32, i64, u8, boolean };

inline constexpr DType f32 = DType::f32, f64 = DType::f64, bf16 = DType::bf16, f16 = DType::f16,
                       i8 = DType::i8, i32 = DType::i32, i64 = DType::i64, u8 = DType::u8,
                       boolean = DType::boolean;
inline constexpr int kNumDTypes = 9;

/// Returns the short name: "f32", "bf16", "bool".
std::string_view name(DType dtype);
/// Returns the type called `name`; throws TypeError that lists the names otherwise.
DType parse_dtype(std::string_view name);
/// Returns the bytes of one element.
std::size_t size_of(DType dtype);
/// Returns whether values are floating-point, the only ones that carry gradients.
constexpr bool is_float(DType dtype) { return dtype <= DType::f16; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::i8 && dtype <= DType::u8; }

/// Holds a set of element types, for operators to say what they accept.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> members) {
    for (DType member : members) {
      bits_ |= bit(member);
    }
  }
  constexpr bool contains(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  constexpr DTypeSet operator|(DTypeSet other) const {
    other.bits_ |= bits_;
    return other;
  }
  std::vector<DType> members() const;

 private:
  static constexpr unsigned bit(DType dtype) { return 1U << static_cast<unsigned>(dtype); }
  unsigned bits_ = 0;
};

inline constexpr DTypeSet kFloats = {f32, f64, bf16, f16};
inline constexpr DTypeSet kIntegers = {i8, i32, i64, u8};
inline constexpr DTypeSet kNumbers = kFloats | kIntegers;
inline constexpr DTypeSet kAnyDType = kNumbers | DTypeSet{boolean};

/// Gives the run-time type of a C++ type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return f32;
  else if constexpr (std::is_same_v<T, double>) return f64;
  else if constexpr (std::is_same_v<T, bfloat16>) return bf16;
  else if constexpr (std::is_same_v<T, float16>) return f16;
  else if constexpr (std::is_same_v<T, std::int8_t>) return i8;
  else if constexpr (std::is_same_v<T, std::int32_t>) return i32;
  else if constexpr (std::is_same_v<T, std::int64_t>) return i64;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return u8;
  else if constexpr (std::is_same_v<T, bool>) return boolean;
  else static_assert(sizeof(T) == 0, "not an element type");
}

/// Calls `f` with a value-initialised element of the C++ type that `dtype` stands for.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::bf16: return f(bfloat16{});
    case DType::f16: return f(float16{});
    case DType::i8: return f(std::int8_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::boolean: break;
  }
  return f(bool{});
}

/// Converts a floating-point number to an integer: towards zero, clamped to the range, NaN to 0
/// (C++ leaves what does not fit undefined).
template <class To, class From>
constexpr To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  if (value != value) {
    return To{};
  }
  // The upper limit may round up to a power of two that no longer fits, so it is met by >=.
  if (value >= static_cast<From>(Limits::max())) {
    return Limits::max();
  }
  if (value <= static_cast<From>(Limits::min())) {
    return Limits::min();
  }
  return static_cast<To>(value);
}

/// Converts between any two element types: 16-bit floats go through float, floats saturate as
/// integers, integers wrap, bool is "not zero".
template <class To, class From>
constexpr To convert(From value) {
  constexpr bool kHalfFrom = std::is_same_v<From, bfloat16> || std::is_same_v<From, float16>;
  constexpr bool kHalfTo = std::is_same_v<To, bfloat16> || std::is_same_v<To, float16>;
  constexpr bool kFloatToInteger = std::is_floating_point_v<From> && std::is_integral_v<To>;
  if constexpr (std::is_same_v<To, From>) return value;
  else if constexpr (kHalfFrom) return convert<To>(static_cast<float>(value));
  else if constexpr (kHalfTo) return To(static_cast<float>(value));
  else if constexpr (std::is_same_v<To, bool>) return value != From{};
  else if constexpr (kFloatToInteger) return saturate<To>(value);
  else return static_cast<To>(value);
}

}  // namespace antichain
