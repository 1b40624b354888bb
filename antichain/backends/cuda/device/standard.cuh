// The parts of the standard library that shared headers use, for a compiler that has none. Every
// standard header that they include stands for this file.
#pragma once

using int8_t = signed char;
using uint8_t = unsigned char;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;

namespace std {

using ::int32_t, ::uint32_t, ::int64_t, ::uint64_t, ::int8_t, ::uint8_t;
using size_t = unsigned long;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, signed char> || is_same_v<T, unsigned char> ||
    is_same_v<T, int> || is_same_v<T, unsigned> || is_same_v<T, long> ||
    is_same_v<T, unsigned long> || is_same_v<T, long long> || is_same_v<T, unsigned long long>;

template <class T>
struct Unsigned;
template <>
struct Unsigned<int> {
  using Type = unsigned;
};
template <>
struct Unsigned<long long> {
  using Type = unsigned long long;
};
template <class T>
using make_unsigned_t = typename Unsigned<T>::Type;

template <size_t... kNumbers>
struct index_sequence {};
template <size_t kCount, size_t... kNumbers>
struct CountedSequence : CountedSequence<kCount - 1, kCount - 1, kNumbers...> {};
template <size_t... kNumbers>
struct CountedSequence<0, kNumbers...> {
  using Type = index_sequence<kNumbers...>;
};
template <size_t kCount>
using make_index_sequence = typename CountedSequence<kCount>::Type;

template <class T, size_t kSize>
struct array {
  T elements[kSize];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
};

template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

using ::ceil, ::cos, ::erf, ::exp, ::expm1, ::fabs, ::floor, ::fmod, ::log, ::log1p, ::pow, ::rint,
    ::sin, ::sqrt;

inline double tanh(double x) { return ::tanh(x); }
// CUDA's own branches, and a warp whose lanes go both ways waits for both: in a chain that is a
// good part of a step. Both ways at once are as accurate to some 3e-7: x + x³ p(x²) where x is
// small, p through Chebyshev's points, and 1 - 2 / (e^2x + 1).
inline float tanh(float x) {
  const float square = x * x, size = ::fabsf(x);
  const float fourth = square * square;
  const float p0 = ::fmaf(0.1333322525024414f, square, -0.3333333134651184f);
  const float p1 = ::fmaf(0.021470682695508003f, square, -0.05393346771597862f);
  const float p = ::fmaf(::fmaf(-0.006942941807210445f, fourth, p1), fourth, p0);
  const float small = ::fmaf(x * square, p, x);
  float power, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(size * 2.8853900817779268f));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(power + 1.0f));
  // Signs are put in beforehand: nobody waits for them.
  const float large = ::fmaf(-::copysignf(2.0f, x), inverse, ::copysignf(1.0f, x));
  return size < 0.5f ? small : large;
}

}  // namespace std
