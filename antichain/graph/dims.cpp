// Lists of dims and the values of symbols.
#include <algorithm>

#include "antichain/base/error.h"
#include "antichain/graph/dim.h"

namespace antichain {

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

bool never_equal(Dim a, Dim b) {
  if (a == b || (a.is_constant() && b.is_constant())) {
    return !(a == b);
  }
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

std::size_t hash(const Dims& dims) {
  constexpr std::size_t kGoldenRatio = 0x9E3779B97F4A7C15;
  std::size_t seed = dims.size();
  for (Dim dim : dims) {
    seed = (seed ^ dim.hash()) * kGoldenRatio;
  }
  return seed;
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

bool is_bound(const Dims& dims, const DimEnv& env) {
  return std::all_of(dims.begin(), dims.end(), [&env](Dim dim) { return dim.is_bound(env); });
}

Dims substitute(const Dims& dims, const std::unordered_map<std::uint32_t, Dim>& replacement) {
  Dims result = dims;
  for (Dim& dim : result) {
    dim = dim.substitute(replacement);
  }
  return result;
}

}  // namespace antichain
