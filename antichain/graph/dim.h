// Symbolic dimensions: integer expressions over named symbols with ranges.
//
// An expression is kept as a polynomial with integer coefficients over atoms. An atom is a symbol
// ("batch"), or what a polynomial cannot say: a floor division, a remainder, a minimum or a
// maximum. Polynomials are sorted and interned in a DimPool, so two dims that are equal by the
// rules of arithmetic are the same pointer, and comparing them costs nothing. A constant needs no
// pool.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace antichain {

struct DimPolynomial;
class DimPool;

/// Bounds what a dim can be; both ends are included.
struct DimRange {
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
  std::int64_t min = 0;
  std::int64_t max = kUnbounded;
};

/// Says what is known of a named dim before a run: its bounds and, for choices that are made while
/// a graph is built, the size that most runs will have.
struct DimInfo {
  std::int64_t min = 0;
  std::int64_t max = DimRange::kUnbounded;
  std::optional<std::int64_t> expected = std::nullopt;
};

/// Holds the values of symbols, by symbol id.
class DimEnv {
 public:
  void bind(std::uint32_t symbol, std::int64_t value);
  /// Returns whether the symbol has a value.
  bool is_bound(std::uint32_t symbol) const;
  /// Returns the value; throws InternalError when there is none.
  std::int64_t value(std::uint32_t symbol) const;
  void clear() { values_.clear(); }

 private:
  static constexpr std::int64_t kUnbound = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> values_;
};

class Dim {
 public:
  Dim(std::int64_t value = 0) : constant_(value) {}  // implicit: a number is a dimension
  Dim(int value) : constant_(value) {}

  bool is_constant() const { return polynomial_ == nullptr; }
  /// Returns the value of a constant; throws InternalError on a symbolic dim.
  std::int64_t constant() const;
  /// Returns whether this is one bare symbol, and its id.
  bool is_symbol() const;
  std::uint32_t symbol() const;
  /// Returns bounds that hold for every value of the symbols within their ranges.
  DimRange range() const;
  /// Returns the size to reckon with before a run: of a constant itself, otherwise computed from
  /// the expected sizes of the symbols; nothing where one of them has none.
  std::optional<std::int64_t> expected() const;
  /// Computes the value; throws ShapeError on overflow and when a symbol has no value.
  std::int64_t evaluate(const DimEnv& env) const;
  /// Returns whether every symbol in this dim has a value.
  bool is_bound(const DimEnv& env) const;
  /// Adds the ids of all symbols in this dim.
  void collect_symbols(std::vector<std::uint32_t>& symbols) const;
  /// Replaces symbols by dims.
  Dim substitute(const std::unordered_map<std::uint32_t, Dim>& replacement) const;
  std::string str() const;
  std::size_t hash() const;

  friend Dim operator+(Dim a, Dim b);
  friend Dim operator-(Dim a, Dim b);
  friend Dim operator*(Dim a, Dim b);
  /// Divides rounding down; throws ShapeError when the divisor is the constant 0.
  friend Dim operator/(Dim a, Dim b);
  friend Dim operator%(Dim a, Dim b);
  friend Dim min(Dim a, Dim b);
  friend Dim max(Dim a, Dim b);
  friend bool operator==(Dim a, Dim b) {
    return a.constant_ == b.constant_ && a.polynomial_ == b.polynomial_;
  }

 private:
  friend class DimPool;
  explicit Dim(const DimPolynomial* polynomial) : polynomial_(polynomial) {}

  std::int64_t constant_ = 0;  // used when there is no polynomial
  const DimPolynomial* polynomial_ = nullptr;
};

using Dims = std::vector<Dim>;

/// Returns the product of all dims.
Dim numel(const Dims& dims);
/// Returns "[batch, 2*n + 1]".
std::string to_string(const Dims& dims);
/// Returns dims that are all constants as they are.
Dims to_dims(const std::vector<std::int64_t>& shape);
/// Computes every dim.
std::vector<std::int64_t> evaluate(const Dims& dims, const DimEnv& env);
/// Returns whether every symbol in the dims has a value.
bool is_bound(const Dims& dims, const DimEnv& env);
Dims substitute(const Dims& dims, const std::unordered_map<std::uint32_t, Dim>& replacement);
std::size_t hash(const Dims& dims);
/// Returns whether no value of the symbols makes the two equal.
bool never_equal(Dim a, Dim b);

/// Owns symbols and interned expressions; lives as long as any dim made of it.
class DimPool {
 public:
  DimPool();
  ~DimPool();
  DimPool(const DimPool&) = delete;
  DimPool& operator=(const DimPool&) = delete;

  /// Returns the symbol called `name`, made on first use; throws ShapeError when a later range
  /// differs or when the expected size is outside. The size that was expected last counts.
  Dim symbol(std::string_view name, const DimInfo& info = {});
  /// Returns a new symbol for a size that only the run will tell; its name starts with `prefix`.
  Dim fresh(std::string_view prefix, DimRange range = {});
  const std::string& symbol_name(std::uint32_t symbol) const;
  DimRange symbol_range(std::uint32_t symbol) const;
  /// Returns the expected sizes of the symbols that have one.
  DimEnv expected_sizes() const;

  struct Impl;  // named by dim.cpp alone

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace antichain
