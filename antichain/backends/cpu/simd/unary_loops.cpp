// The operators of one value: which functor is which operator. Compiled per level.
#include <iterator>

#include "antichain/backends/cpu/simd/make_loop.h"
#include "antichain/backends/cpu/simd/wide_math.h"
#include "antichain/ops/elementwise/elementwise_functors.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

template <>
inline constexpr bool kOfAngle<functors::Sin> = true;
template <>
inline constexpr bool kOfAngle<functors::Cos> = true;
template <>
inline constexpr bool kExact<functors::Negate> = true;
template <>
inline constexpr bool kExact<functors::Abs> = true;
template <>
inline constexpr bool kExact<functors::Sign> = true;
template <>
inline constexpr bool kExact<functors::Relu> = true;

namespace {

constexpr LoopRow kUnaryRows[] = {
    unary<functors::Negate, Takes::numbers>("negate"),
    unary<functors::Abs, Takes::numbers>("abs"),
    unary<functors::Sign, Takes::numbers>("sign"),
    unary<functors::Floor>("floor"),
    unary<functors::Ceil>("ceil"),
    unary<functors::Round>("round"),
    unary<functors::Exp>("exp"),
    unary<functors::Expm1>("expm1"),
    unary<functors::Log>("log"),
    unary<functors::Log1p>("log1p"),
    unary<functors::Sqrt>("sqrt"),
    unary<functors::Rsqrt>("rsqrt"),
    unary<functors::Reciprocal>("reciprocal"),
    unary<functors::Square, Takes::numbers>("square"),
    unary<functors::Sin>("sin"),
    unary<functors::Cos>("cos"),
    unary<functors::Erf>("erf"),
    unary<functors::Tanh>("tanh"),
    unary<functors::Sigmoid>("sigmoid"),
    unary<functors::Softplus>("softplus"),
    unary<functors::Relu, Takes::numbers>("relu"),
    unary<functors::SmoothRelu>("smooth_relu"),
    unary<functors::Gelu>("gelu"),
    unary<functors::Silu>("silu"),
    unary<functors::LogicalNot, Takes::everything>("logical_not"),
    unary<functors::IsFinite>("is_finite"),
};

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
LoopTable unary_loops<kSimdLevel>() {
  return {ANTICHAIN_SIMD_LEVEL::kUnaryRows,
          static_cast<int>(std::size(ANTICHAIN_SIMD_LEVEL::kUnaryRows))};
}

}  // namespace antichain::cpu
