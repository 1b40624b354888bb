#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "antichain/graph/dim_pool_impl.h"

namespace antichain {

Dim DimPool::Impl::intern(Terms terms) {
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

Dim DimPool::Impl::add_atom(Atom atom) {
  atoms.push_back(std::move(atom));
  return intern({{{static_cast<AtomId>(atoms.size() - 1)}, 1}});
}

Dim DimPool::Impl::operation(AtomKind kind, Dim a, Dim b) {
  const bool commutes = kind == AtomKind::min || kind == AtomKind::max;
  if (commutes && terms(a) < terms(b)) {
    std::swap(a, b);
  }
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

std::optional<Dim> DimPool::Impl::divide_exactly(Dim a, Dim b) {
  const Terms divisor = terms(b);
  if (a == Dim(0)) {
    return a;
  }
  if (divisor.size() != 1) {
    return a == b ? std::optional<Dim>(1) : std::nullopt;
  }
  const auto& [monomial, factor] = *divisor.begin();
  Terms quotient;
  for (const auto& [term, coefficient] : terms(a)) {
    const bool overflows = factor == -1 && coefficient == std::numeric_limits<std::int64_t>::min();
    if (overflows || coefficient % factor != 0 ||
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

std::string DimPool::Impl::print(AtomId id) const {
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

DimPool::DimPool() : impl_(std::make_unique<Impl>()) {}
DimPool::~DimPool() = default;

Dim DimPool::symbol(std::string_view name, const DimInfo& info) {
  const DimRange range{info.min, info.max};
  require<ShapeError>(range.min <= range.max, "dim '{}' has an empty range [{}, {}]", name,
                      range.min, range.max);
  if (const auto found = impl_->symbols.find(name); found != impl_->symbols.end()) {
    const DimRange known = impl_->atoms[found->second].range;
    const bool unspecified = range.min == 0 && range.max == kUnbounded;
    require<ShapeError>(unspecified || (known.min == range.min && known.max == range.max),
                        "dim '{}' was declared with range [{}, {}] and again with [{}, {}]", name,
                        known.min, known.max, range.min, range.max);
    impl_->expect(found->second, info.expected);
    return impl_->intern({{{found->second}, 1}});
  }
  Dim dim = impl_->add_atom({AtomKind::symbol, std::string(name), range, {}, {}});
  impl_->symbols.emplace(name, dim.symbol());
  impl_->expect(dim.symbol(), info.expected);
  return dim;
}

void DimPool::Impl::expect(AtomId symbol, std::optional<std::int64_t> size) {
  if (!size) {
    return;
  }
  Atom& atom = atoms[symbol];
  require<ShapeError>(*size >= atom.range.min && *size <= atom.range.max,
                      "dim '{}' is expected to be {}, outside its range [{}, {}]", atom.name, *size,
                      atom.range.min, atom.range.max);
  atom.expected = size;
}

Dim DimPool::fresh(std::string_view prefix, DimRange range) {
  const std::string name = fmt::format("{}#{}", prefix, impl_->next_fresh++);
  return impl_->add_atom({AtomKind::symbol, name, range, {}, {}});
}

const std::string& DimPool::symbol_name(std::uint32_t symbol) const {
  return impl_->atoms[symbol].name;
}
DimRange DimPool::symbol_range(std::uint32_t symbol) const { return impl_->atoms[symbol].range; }

DimEnv DimPool::expected_sizes() const {
  DimEnv sizes;
  for (AtomId id = 0; id < impl_->atoms.size(); ++id) {
    if (const std::optional<std::int64_t> size = impl_->atoms[id].expected) {
      sizes.bind(id, *size);
    }
  }
  return sizes;
}

}  // namespace antichain
