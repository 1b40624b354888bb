#include "antichain/graph/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "antichain/graph/dim_pool_impl.h"

namespace antichain {

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

std::optional<std::int64_t> Dim::expected() const {
  std::vector<std::uint32_t> symbols;
  collect_symbols(symbols);
  DimEnv sizes;
  for (const std::uint32_t symbol : symbols) {
    const std::optional<std::int64_t> size = polynomial_->pool->atoms[symbol].expected;
    if (!size) {
      return std::nullopt;
    }
    sizes.bind(symbol, *size);
  }
  return evaluate(sizes);
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
      require<ShapeError>(
          atom.kind != AtomKind::symbol || env.is_bound(id),
          "dim '{}' has no value: no input that is fed has it as a size, and no op that "
          "ran found it out",
          atom.name);
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

void Dim::collect_symbols(std::vector<std::uint32_t>& symbols) const {
  if (is_constant()) {
    return;
  }
  for (const auto& term : polynomial_->terms) {
    for (AtomId id : term.first) {
      const Atom& atom = polynomial_->pool->atoms[id];
      if (atom.kind == AtomKind::symbol) {
        symbols.push_back(id);
      } else {
        atom.a.collect_symbols(symbols);
        atom.b.collect_symbols(symbols);
      }
    }
  }
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
    // Unsigned: the smallest integer has no negative.
    const auto bits = static_cast<std::uint64_t>(coefficient);
    const std::uint64_t magnitude = coefficient < 0 ? 0 - bits : bits;
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
  if (a.is_constant() && b.is_constant()) {
    return std::min(a.constant_, b.constant_);
  }
  const DimRange difference = (a - b).range();
  if (difference.max <= 0) {
    return a;
  }
  return difference.min >= 0 ? b : DimPool::Impl::of(a, b)->operation(AtomKind::min, a, b);
}

Dim max(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) {
    return std::max(a.constant_, b.constant_);
  }
  const DimRange difference = (a - b).range();
  if (difference.min >= 0) {
    return a;
  }
  return difference.max <= 0 ? b : DimPool::Impl::of(a, b)->operation(AtomKind::max, a, b);
}

}  // namespace antichain
