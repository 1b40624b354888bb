#include "antichain/graph/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "antichain/base/error.h"

namespace antichain {

namespace {

using AtomId = std::uint32_t;
using Monomial = std::vector<AtomId>;            // sorted; a square is the atom twice; empty is 1
using Terms = std::map<Monomial, std::int64_t>;  // coefficients, none of them 0

constexpr std::int64_t kUnbounded = DimRange::kUnbounded;

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  require<ShapeError>(!__builtin_add_overflow(a, b, &result), "a size overflows: {} + {}", a, b);
  return result;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  require<ShapeError>(!__builtin_mul_overflow(a, b, &result), "a size overflows: {} * {}", a, b);
  return result;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  require<ShapeError>(b != 0, "a size is divided by zero");
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; }

// Interval arithmetic; kUnbounded and its negative stand for the infinities.
std::int64_t bound_add(std::int64_t a, std::int64_t b) {
  if (a == kUnbounded || b == kUnbounded) {
    return kUnbounded;
  }
  if (a == -kUnbounded || b == -kUnbounded) {
    return -kUnbounded;
  }
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? (a > 0 ? kUnbounded : -kUnbounded) : result;
}

std::int64_t bound_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool infinite = std::abs(a) == kUnbounded || std::abs(b) == kUnbounded;
  if (a == 0 || b == 0) {
    return 0;
  }
  if (infinite || __builtin_mul_overflow(a, b, &result)) {
    return (a > 0) == (b > 0) ? kUnbounded : -kUnbounded;
  }
  return result;
}

DimRange operator+(DimRange a, DimRange b) {
  return {bound_add(a.min, b.min), bound_add(a.max, b.max)};
}

DimRange operator*(DimRange a, DimRange b) {
  const auto corners = {bound_mul(a.min, b.min), bound_mul(a.min, b.max), bound_mul(a.max, b.min),
                        bound_mul(a.max, b.max)};
  return {std::min(corners), std::max(corners)};
}

enum class AtomKind { symbol, floor_div, mod, min, max };

struct Atom {
  AtomKind kind;
  std::string name;  // symbols only
  DimRange range;
  Dim a, b;  // operands of the others
};

DimRange range_of_operation(AtomKind kind, DimRange a, DimRange b) {
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

std::int64_t apply(AtomKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case AtomKind::floor_div: return floor_div(a, b);
    case AtomKind::mod: return floor_mod(a, b);
    case AtomKind::min: return std::min(a, b);
    case AtomKind::max: return std::max(a, b);
    case AtomKind::symbol: break;
  }
  return 0;
}

}  // namespace

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

  Dim intern(Terms terms) {
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
    if (terms.empty()) {
      return Dim(0);
    }
    if (terms.size() == 1 && terms.begin()->first.empty()) {
      return Dim(terms.begin()->second);
    }
    auto [place, is_new] = polynomials.try_emplace(terms);
    if (is_new) {
      place->second = {this, std::move(terms), {}};
      DimRange range{0, 0};
      for (const auto& [monomial, coefficient] : place->second.terms) {
        DimRange product{coefficient, coefficient};
        for (AtomId atom : monomial) {
          product = product * atoms[atom].range;
        }
        range = range + product;
      }
      place->second.range = range;
    }
    return Dim(&place->second);
  }

  Dim add_atom(Atom atom) {
    atoms.push_back(std::move(atom));
    return intern({{{static_cast<AtomId>(atoms.size() - 1)}, 1}});
  }

  std::map<
      std::tuple<AtomKind, const DimPolynomial*, std::int64_t, const DimPolynomial*, std::int64_t>,
      Dim>
      operations;

  static std::pair<const DimPolynomial*, std::int64_t> parts(Dim dim) {
    return {dim.polynomial_, dim.constant_};
  }

  Dim operation(AtomKind kind, Dim a, Dim b) {
    const auto [polynomial_a, constant_a] = parts(a);
    const auto [polynomial_b, constant_b] = parts(b);
    const auto key = std::tuple(kind, polynomial_a, constant_a, polynomial_b, constant_b);
    if (const auto found = operations.find(key); found != operations.end()) {
      return found->second;
    }
    Dim result = add_atom({kind, "", range_of_operation(kind, a.range(), b.range()), a, b});
    operations.emplace(key, result);
    return result;
  }

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
  std::optional<Dim> divide_exactly(Dim a, Dim b) {
    const Terms divisor = terms(b);
    if (divisor.size() != 1) {
      return a == b ? std::optional<Dim>(1) : std::nullopt;
    }
    const auto& [monomial, factor] = *divisor.begin();
    Terms quotient;
    for (const auto& [term, coefficient] : terms(a)) {
      if (coefficient % factor != 0 ||
          !std::includes(term.begin(), term.end(), monomial.begin(), monomial.end())) {
        return std::nullopt;
      }
      Monomial rest;
      std::set_difference(term.begin(), term.end(), monomial.begin(), monomial.end(),
                          std::back_inserter(rest));
      quotient[rest] += coefficient / factor;
    }
    return intern(std::move(quotient));
  }

  std::string print(AtomId id) const {
    const Atom& atom = atoms[id];
    switch (atom.kind) {
      case AtomKind::symbol: return atom.name;
      case AtomKind::floor_div: return fmt::format("floor(({})/({}))", atom.a.str(), atom.b.str());
      case AtomKind::mod: return fmt::format("(({})%({}))", atom.a.str(), atom.b.str());
      case AtomKind::min: return fmt::format("min({}, {})", atom.a.str(), atom.b.str());
      case AtomKind::max: return fmt::format("max({}, {})", atom.a.str(), atom.b.str());
    }
    return {};
  }
};

void DimEnv::bind(std::uint32_t symbol, std::int64_t value) {
  if (values_.size() <= symbol) {
    values_.resize(symbol + 1, kUnbound);
  }
  values_[symbol] = value;
}

bool DimEnv::is_bound(std::uint32_t symbol) const {
  return symbol < values_.size() && values_[symbol] != kUnbound;
}

std::int64_t DimEnv::value(std::uint32_t symbol) const {
  ensure(is_bound(symbol), "dimension symbol {} has no value yet", symbol);
  return values_[symbol];
}

std::int64_t Dim::constant() const {
  ensure(is_constant(), "dim '{}' is not a constant", str());
  return constant_;
}

bool Dim::is_symbol() const {
  if (is_constant() || polynomial_->terms.size() != 1) {
    return false;
  }
  const auto& [monomial, coefficient] = *polynomial_->terms.begin();
  return coefficient == 1 && monomial.size() == 1 &&
         polynomial_->pool->atoms[monomial[0]].kind == AtomKind::symbol;
}

std::uint32_t Dim::symbol() const {
  ensure(is_symbol(), "dim '{}' is not a symbol", str());
  return polynomial_->terms.begin()->first[0];
}

DimRange Dim::range() const {
  return is_constant() ? DimRange{constant_, constant_} : polynomial_->range;
}

std::int64_t Dim::evaluate(const DimEnv& env) const {
  if (is_constant()) {
    return constant_;
  }
  std::int64_t sum = 0;
  for (const auto& [monomial, coefficient] : polynomial_->terms) {
    std::int64_t product = coefficient;
    for (AtomId id : monomial) {
      const Atom& atom = polynomial_->pool->atoms[id];
      product =
          checked_mul(product, atom.kind == AtomKind::symbol
                                   ? env.value(id)
                                   : apply(atom.kind, atom.a.evaluate(env), atom.b.evaluate(env)));
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

bool Dim::is_bound(const DimEnv& env) const {
  if (is_constant()) {
    return true;
  }
  for (const auto& term : polynomial_->terms) {
    for (AtomId id : term.first) {
      const Atom& atom = polynomial_->pool->atoms[id];
      const bool bound = atom.kind == AtomKind::symbol
                             ? env.is_bound(id)
                             : atom.a.is_bound(env) && atom.b.is_bound(env);
      if (!bound) {
        return false;
      }
    }
  }
  return true;
}

Dim Dim::substitute(const std::unordered_map<std::uint32_t, Dim>& replacement) const {
  if (is_constant() || replacement.empty()) {
    return *this;
  }
  DimPool::Impl& pool = *polynomial_->pool;
  const Terms terms = polynomial_->terms;
  Dim sum = 0;
  for (const auto& [monomial, coefficient] : terms) {
    Dim product = coefficient;
    for (AtomId id : monomial) {
      const Atom atom = pool.atoms[id];
      if (atom.kind == AtomKind::symbol) {
        const auto found = replacement.find(id);
        product = product * (found != replacement.end() ? found->second : pool.intern({{{id}, 1}}));
        continue;
      }
      const Dim a = atom.a.substitute(replacement), b = atom.b.substitute(replacement);
      switch (atom.kind) {
        case AtomKind::floor_div: product = product * (a / b); break;
        case AtomKind::mod: product = product * (a % b); break;
        case AtomKind::min: product = product * min(a, b); break;
        case AtomKind::max: product = product * max(a, b); break;
        case AtomKind::symbol: break;
      }
    }
    sum = sum + product;
  }
  return sum;
}

std::string Dim::str() const {
  if (is_constant()) {
    return std::to_string(constant_);
  }
  std::string text;
  // Constants last: "2*n + 1" reads better than "1 + 2*n".
  for (auto term = polynomial_->terms.rbegin(); term != polynomial_->terms.rend(); ++term) {
    const auto& [monomial, coefficient] = *term;
    const std::int64_t magnitude = std::abs(coefficient);
    text += text.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + ");
    if (magnitude != 1 || monomial.empty()) {
      text += std::to_string(magnitude) + (monomial.empty() ? "" : "*");
    }
    for (std::size_t i = 0; i < monomial.size(); ++i) {
      text += (i ? "*" : "") + polynomial_->pool->print(monomial[i]);
    }
  }
  return text;
}

std::size_t Dim::hash() const {
  return std::hash<const void*>()(polynomial_) ^ std::hash<std::int64_t>()(constant_);
}

Dim operator+(Dim a, Dim b) {
  DimPool::Impl* pool = DimPool::Impl::of(a, b);
  if (!pool) {
    return checked_add(a.constant_, b.constant_);
  }
  Terms sum = DimPool::Impl::terms(a);
  for (const auto& [monomial, coefficient] : DimPool::Impl::terms(b)) {
    sum[monomial] = checked_add(sum[monomial], coefficient);
  }
  return pool->intern(std::move(sum));
}

Dim operator-(Dim a, Dim b) { return a + Dim(-1) * b; }

Dim operator*(Dim a, Dim b) {
  DimPool::Impl* pool = DimPool::Impl::of(a, b);
  if (!pool) {
    return checked_mul(a.constant_, b.constant_);
  }
  Terms product;
  for (const auto& [monomial_a, coefficient_a] : DimPool::Impl::terms(a)) {
    for (const auto& [monomial_b, coefficient_b] : DimPool::Impl::terms(b)) {
      Monomial merged;
      std::merge(monomial_a.begin(), monomial_a.end(), monomial_b.begin(), monomial_b.end(),
                 std::back_inserter(merged));
      product[merged] = checked_add(product[merged], checked_mul(coefficient_a, coefficient_b));
    }
  }
  return pool->intern(std::move(product));
}

Dim operator/(Dim a, Dim b) {
  require<ShapeError>(!(b == Dim(0)), "dim '{}' is divided by zero", a.str());
  DimPool::Impl* pool = DimPool::Impl::of(a, b);
  if (!pool) {
    return floor_div(a.constant_, b.constant_);
  }
  const auto exact = pool->divide_exactly(a, b);
  return exact ? *exact : pool->operation(AtomKind::floor_div, a, b);
}

Dim operator%(Dim a, Dim b) {
  require<ShapeError>(!(b == Dim(0)), "dim '{}' is divided by zero", a.str());
  DimPool::Impl* pool = DimPool::Impl::of(a, b);
  if (!pool) {
    return floor_mod(a.constant_, b.constant_);
  }
  return pool->divide_exactly(a, b) ? Dim(0) : pool->operation(AtomKind::mod, a, b);
}

Dim min(Dim a, Dim b) {
  const DimRange difference = (a - b).range();
  if (difference.max <= 0) {
    return a;
  }
  return difference.min >= 0 ? b : DimPool::Impl::of(a, b)->operation(AtomKind::min, a, b);
}

Dim max(Dim a, Dim b) {
  const DimRange difference = (a - b).range();
  if (difference.min >= 0) {
    return a;
  }
  return difference.max <= 0 ? b : DimPool::Impl::of(a, b)->operation(AtomKind::max, a, b);
}

bool never_equal(Dim a, Dim b) {
  const DimRange difference = (a - b).range();
  return difference.min > 0 || difference.max < 0;
}

Dim numel(const Dims& dims) {
  Dim product = 1;
  for (Dim dim : dims) {
    product = product * dim;
  }
  return product;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i ? ", " : "") + dims[i].str();
  }
  return text + "]";
}

Dims to_dims(const std::vector<std::int64_t>& shape) { return {shape.begin(), shape.end()}; }

std::vector<std::int64_t> evaluate(const Dims& dims, const DimEnv& env) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims.size());
  for (Dim dim : dims) {
    sizes.push_back(dim.evaluate(env));
  }
  return sizes;
}

Dims substitute(const Dims& dims, const std::unordered_map<std::uint32_t, Dim>& replacement) {
  Dims result = dims;
  for (Dim& dim : result) {
    dim = dim.substitute(replacement);
  }
  return result;
}

DimPool::DimPool() : impl_(std::make_unique<Impl>()) {}
DimPool::~DimPool() = default;

Dim DimPool::symbol(std::string_view name, DimRange range) {
  require<ShapeError>(range.min <= range.max, "dim '{}' has an empty range [{}, {}]", name,
                      range.min, range.max);
  if (const auto found = impl_->symbols.find(name); found != impl_->symbols.end()) {
    const DimRange known = impl_->atoms[found->second].range;
    const bool unspecified = range.min == 0 && range.max == kUnbounded;
    require<ShapeError>(unspecified || (known.min == range.min && known.max == range.max),
                        "dim '{}' was declared with range [{}, {}] and again with [{}, {}]", name,
                        known.min, known.max, range.min, range.max);
    return impl_->intern({{{found->second}, 1}});
  }
  Dim dim = impl_->add_atom({AtomKind::symbol, std::string(name), range, {}, {}});
  impl_->symbols.emplace(name, dim.symbol());
  return dim;
}

Dim DimPool::fresh(std::string_view prefix, DimRange range) {
  const std::string name = fmt::format("{}#{}", prefix, impl_->next_fresh++);
  return impl_->add_atom({AtomKind::symbol, name, range, {}, {}});
}

const std::string& DimPool::symbol_name(std::uint32_t symbol) const {
  return impl_->atoms[symbol].name;
}
DimRange DimPool::symbol_range(std::uint32_t symbol) const { return impl_->atoms[symbol].range; }

}  // namespace antichain
