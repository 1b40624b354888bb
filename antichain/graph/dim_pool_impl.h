// The inside of a DimPool: atoms, polynomials over them, and the integer and interval arithmetic
// they need. For dim.cpp, dim_pool.cpp and dims.cpp alone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/graph/dim.h"

namespace antichain {

using AtomId = std::uint32_t;
using Monomial = std::vector<AtomId>;            // sorted; a square is the atom twice; empty is 1
using Terms = std::map<Monomial, std::int64_t>;  // coefficients, none of them 0

constexpr std::int64_t kUnbounded = DimRange::kUnbounded;

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  require<ShapeError>(!__builtin_add_overflow(a, b, &result), "a size overflows: {} + {}", a, b);
  return result;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  require<ShapeError>(!__builtin_mul_overflow(a, b, &result), "a size overflows: {} * {}", a, b);
  return result;
}

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  require<ShapeError>(b != 0, "a size is divided by zero");
  if (b == -1) {  // the smallest integer has no negative, and dividing it would trap
    return checked_mul(a, b);
  }
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

inline std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return b == -1 ? 0 : a - floor_div(a, b) * b;
}

// Interval arithmetic; kUnbounded and its negative stand for the infinities.
inline std::int64_t bound_add(std::int64_t a, std::int64_t b) {
  if (a == kUnbounded || b == kUnbounded) {
    return kUnbounded;
  }
  if (a == -kUnbounded || b == -kUnbounded) {
    return -kUnbounded;
  }
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? (a > 0 ? kUnbounded : -kUnbounded) : result;
}

inline std::int64_t bound_mul(std::int64_t a, std::int64_t b) {
  const auto is_infinite = [](std::int64_t x) { return x == kUnbounded || x == -kUnbounded; };
  std::int64_t result = 0;
  if (a == 0 || b == 0) {
    return 0;
  }
  if (is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &result)) {
    return (a > 0) == (b > 0) ? kUnbounded : -kUnbounded;
  }
  return result;
}

inline DimRange operator+(DimRange a, DimRange b) {
  return {bound_add(a.min, b.min), bound_add(a.max, b.max)};
}

inline DimRange operator*(DimRange a, DimRange b) {
  const auto corners = {bound_mul(a.min, b.min), bound_mul(a.min, b.max), bound_mul(a.max, b.min),
                        bound_mul(a.max, b.max)};
  return {std::min(corners), std::max(corners)};
}

enum class AtomKind { symbol, floor_div, mod, min, max };

struct Atom {
  AtomKind kind;
  std::string name;  // symbols only
  DimRange range;
  Dim a, b;                                             // operands of the others
  std::optional<std::int64_t> expected = std::nullopt;  // symbols only
};

inline DimRange range_of_operation(AtomKind kind, DimRange a, DimRange b) {
  switch (kind) {
    case AtomKind::floor_div:
      if (b.min > 0 && a.min >= 0) {
        return {b.max == kUnbounded ? 0 : a.min / b.max,
                a.max == kUnbounded ? kUnbounded : a.max / b.min};
      }
      return {-kUnbounded, kUnbounded};
    case AtomKind::mod:
      return b.min > 0 ? DimRange{0, b.max == kUnbounded ? kUnbounded : b.max - 1}
                       : DimRange{-kUnbounded, kUnbounded};
    case AtomKind::min: return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case AtomKind::max: return {std::max(a.min, b.min), std::max(a.max, b.max)};
    case AtomKind::symbol: break;
  }
  return {};
}

inline std::int64_t apply(AtomKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case AtomKind::floor_div: return floor_div(a, b);
    case AtomKind::mod: return floor_mod(a, b);
    case AtomKind::min: return std::min(a, b);
    case AtomKind::max: return std::max(a, b);
    case AtomKind::symbol: break;
  }
  return 0;
}

struct DimPolynomial {
  DimPool::Impl* pool;
  Terms terms;
  DimRange range;
};

struct DimPool::Impl {
  std::deque<Atom> atoms;
  std::map<std::string, AtomId, std::less<>> symbols;
  std::map<Terms, DimPolynomial> polynomials;
  std::uint32_t next_fresh = 0;

  Dim intern(Terms terms);

  Dim add_atom(Atom atom);

  void expect(AtomId symbol, std::optional<std::int64_t> size);

  std::map<
      std::tuple<AtomKind, const DimPolynomial*, std::int64_t, const DimPolynomial*, std::int64_t>,
      Dim>
      operations;

  static std::pair<const DimPolynomial*, std::int64_t> parts(Dim dim) {
    return {dim.polynomial_, dim.constant_};
  }

  Dim operation(AtomKind kind, Dim a, Dim b);

  static Impl* of(Dim a, Dim b) {
    Impl* pool_a = a.polynomial_ ? a.polynomial_->pool : nullptr;
    Impl* pool_b = b.polynomial_ ? b.polynomial_->pool : nullptr;
    require<ShapeError>(!pool_a || !pool_b || pool_a == pool_b,
                        "dims '{}' and '{}' belong to different graphs", a.str(), b.str());
    return pool_a ? pool_a : pool_b;
  }

  static Terms terms(Dim dim) {
    return dim.polynomial_ ? dim.polynomial_->terms : Terms{{{}, dim.constant_}};
  }

  // Divides every term by a divisor of one term, when that leaves nothing over.
  std::optional<Dim> divide_exactly(Dim a, Dim b);

  std::string print(AtomId id) const;
};

}  // namespace antichain
