// Small parts that definitions of ops are written with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

using Inputs = std::span<const Var>;

/// Returns the only result of an op, a rule or a sample.
inline std::vector<Var> one(Var var) { return {var}; }

/// Returns whether `x` is the result of an op of this kind, for rewrites.
inline bool made_by(Var x, const OpDef& def) {
  return !x.graph().is_region_param(x) && &x.producer().def() == &def;
}

/// Makes a sample's builder of a function of the inputs that returns one value.
template <class F>
auto build_one(F f) {
  return [f](Graph&, Inputs in) { return one(f(in)); };
}

/// Describes an input of a sample that holds these integers, indices for example.
inline SampleInput indices_of(Shape shape, std::vector<std::int64_t> values,
                              DType dtype = DType::i64) {
  return {.shape = std::move(shape), .dtype = dtype, .values = std::move(values)};
}

/// Throws ShapeError when a size cannot but be negative.
inline void require_sizes(const Dims& shape, const std::string& op) {
  for (Dim dim : shape) {
    require<ShapeError>(dim.range().max >= 0, "{}: size {} is negative", op, dim.str());
  }
}

}  // namespace antichain
