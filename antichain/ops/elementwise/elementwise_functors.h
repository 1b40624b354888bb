// The one list of element-wise functions. Reference kernels, SIMD and CUDA kernels and generated
// code all instantiate these functors; T is the type that the user of the list computes in.
//
// Functions are found by argument-dependent lookup, so that T may also be a type that records what
// is computed.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "antichain/base/host_device.h"

namespace antichain::functors {

// Integers wrap around, as every backend's registers do; signed overflow would be undefined.
template <class T, class F>
ANTICHAIN_HOST_DEVICE T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

// Takes one of two values that are both computed; a type that vectorises or records has its own.
template <class T>
ANTICHAIN_HOST_DEVICE T choose(bool condition, T yes, T no) {
  return condition ? yes : no;
}

struct Add {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Subtract {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Multiply {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Divide {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    return a / b;
  }
};
struct FloorDivide {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) {
        return 0;
      }
      if (b == -1) {  // the smallest integer has no negative: wrap instead of trapping
        return Subtract()(T(0), a);
      }
      return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    } else {  // not floor(a / b), where 5 / 0.1 is rounded up to 50; fmod is exact
      using std::fmod, std::rint;
      if (b == T(0)) {
        return a / b;
      }
      const T rest = fmod(a, b);
      const T towards_zero = (a - rest) / b;
      const bool cross = rest != T(0) && (rest < T(0)) != (b < T(0));
      return rint(choose(cross, towards_zero - T(1), towards_zero));
    }
  }
};
struct Modulo {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return b == 0 ? 0 : Subtract()(a, Multiply()(FloorDivide()(a, b), b));
    } else {
      using std::fmod;
      const T rest = fmod(a, b);
      return choose(rest != T(0) && (rest < T(0)) != (b < T(0)), rest + b, rest);
    }
  }
};
struct Pow {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    using std::pow;
    return pow(a, b);
  }
};
// A NaN on either side wins.
struct Minimum {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    return choose(bool((a != a) | (a < b)), a, b);
  }
};
struct Maximum {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T a, T b) const {
    return choose(bool((a != a) | (a > b)), a, b);
  }
};

struct Equal {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct LogicalAnd {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return bool((a != T(0)) & (b != T(0)));
  }
};
struct LogicalOr {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return bool((a != T(0)) | (b != T(0)));
  }
};
struct LogicalXor {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T a, T b) const {
    return (a != T(0)) != (b != T(0));
  }
};
struct LogicalNot {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T x) const {
    return x == T(0);
  }
};
struct IsFinite {
  template <class T>
  ANTICHAIN_HOST_DEVICE bool operator()(T x) const {
    return x - x == T(0);  // infinities and NaN give NaN
  }
};

struct Negate {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return Subtract()(T(0), x);
    } else {
      return -x;
    }
  }
};
struct Abs {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return choose(x < 0, Negate()(x), x);
    } else {
      using std::fabs;
      return fabs(x);
    }
  }
};
struct Sign {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    const T sign = T((x > T(0)) - (x < T(0)));
    if constexpr (std::is_integral_v<T>) {
      return sign;
    } else {
      return choose(x != x, x, sign);
    }
  }
};
struct Square {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    return Multiply()(x, x);
  }
};
struct Reciprocal {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    return T(1) / x;
  }
};
struct Floor {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::floor;
    return floor(x);
  }
};
struct Ceil {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::ceil;
    return ceil(x);
  }
};
struct Round {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::rint;
    return rint(x);
  }
};
struct Exp {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::exp;
    return exp(x);
  }
};
struct Expm1 {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::expm1;
    return expm1(x);
  }
};
struct Log {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::log;
    return log(x);
  }
};
struct Log1p {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::log1p;
    return log1p(x);
  }
};
struct Sqrt {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::sqrt;
    return sqrt(x);
  }
};
struct Rsqrt {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::sqrt;
    return T(1) / sqrt(x);
  }
};
struct Sin {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::sin;
    return sin(x);
  }
};
struct Cos {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::cos;
    return cos(x);
  }
};
struct Erf {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::erf;
    return erf(x);
  }
};
struct Tanh {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::tanh;
    return tanh(x);
  }
};
// 1 / x for x from 1 on.
template <class T>
ANTICHAIN_HOST_DEVICE T inverse_of(T x) {
  return T(1) / x;
}
#ifdef __CUDA_ARCH__
// To one unit in the last place, without the branch that a division has for numbers near 0.
template <>
inline float inverse_of(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif
struct Sigmoid {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::exp;
    return inverse_of(T(1) + exp(-x));
  }
};
struct Softplus {  // max(x, 0) + log1p(exp(-|x|)): the exponent is never positive
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::exp, std::fabs, std::log1p;
    return Maximum()(x, T(0)) + log1p(exp(-fabs(x)));
  }
};
struct Relu {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    return choose(x <= T(0), T(0), x);  // a NaN stays
  }
};
struct SmoothRelu {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    constexpr double kWidth = 0.1;  // of each half of the quadratic piece
    const T above = x + T(kWidth);
    const T piece = above * above * T(1 / (4 * kWidth));
    return choose(x <= T(-kWidth), T(0), choose(x < T(kWidth), piece, x));  // a NaN stays
  }
};
struct Gelu {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    using std::erf;
    constexpr double kSqrtHalf = 0.70710678118654752440;
    return T(0.5) * x * (T(1) + erf(x * T(kSqrtHalf)));
  }
};
struct Silu {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T x) const {
    return x * Sigmoid()(x);
  }
};

// Slopes times what comes back: the argument is x, or y where the slope is a function of y.
struct ReluGradient {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T grad, T y) const {
    return choose(y > T(0), grad, T(0));
  }
};
struct TanhGradient {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T grad, T y) const {
    return grad * (T(1) - y * y);
  }
};
struct SigmoidGradient {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T grad, T y) const {
    return grad * (y * (T(1) - y));
  }
};
struct GeluGradient {
  template <class T>
  ANTICHAIN_HOST_DEVICE T operator()(T grad, T x) const {
    using std::erf, std::exp;
    constexpr double kSqrtHalf = 0.70710678118654752440;
    constexpr double kInvSqrtTwoPi = 0.39894228040143267794;
    const T density = T(kInvSqrtTwoPi) * exp(T(-0.5) * x * x);
    return grad * (T(0.5) * (T(1) + erf(x * T(kSqrtHalf))) + x * density);
  }
};

}  // namespace antichain::functors
