// The operators of two values: which functor is which operator. Compiled per level.
#include <iterator>

#include "antichain/backends/cpu/simd/make_loop.h"
#include "antichain/backends/cpu/simd/wide_math.h"
#include "antichain/ops/elementwise/elementwise_functors.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

template <>
inline constexpr bool kExact<functors::Minimum> = true;
template <>
inline constexpr bool kExact<functors::Maximum> = true;

template <>
inline constexpr bool kExact<functors::ReluGradient> = true;

namespace {

constexpr LoopRow kBinaryRows[] = {
    binary<functors::Add, Takes::numbers>("add"),
    binary<functors::Subtract, Takes::numbers>("subtract"),
    binary<functors::Multiply, Takes::numbers>("multiply"),
    binary<functors::Divide>("divide"),
    binary<functors::FloorDivide, Takes::numbers>("floor_divide"),
    binary<functors::Modulo, Takes::numbers>("modulo"),
    binary<functors::Pow>("pow"),
    binary<functors::Minimum, Takes::numbers>("minimum"),
    binary<functors::Maximum, Takes::numbers>("maximum"),
    binary<functors::ReluGradient>("relu_gradient"),
    binary<functors::TanhGradient>("tanh_gradient"),
    binary<functors::SigmoidGradient>("sigmoid_gradient"),
    binary<functors::GeluGradient>("gelu_gradient"),
    binary<functors::Equal, Takes::everything>("equal"),
    binary<functors::NotEqual, Takes::everything>("not_equal"),
    binary<functors::Less, Takes::numbers>("less"),
    binary<functors::LessEqual, Takes::numbers>("less_equal"),
    binary<functors::Greater, Takes::numbers>("greater"),
    binary<functors::GreaterEqual, Takes::numbers>("greater_equal"),
    binary<functors::LogicalAnd, Takes::everything>("logical_and"),
    binary<functors::LogicalOr, Takes::everything>("logical_or"),
    binary<functors::LogicalXor, Takes::everything>("logical_xor"),
};

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
LoopTable binary_loops<kSimdLevel>() {
  return {ANTICHAIN_SIMD_LEVEL::kBinaryRows,
          static_cast<int>(std::size(ANTICHAIN_SIMD_LEVEL::kBinaryRows))};
}

}  // namespace antichain::cpu
