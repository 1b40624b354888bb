// Random values: pure functions of a key, so a run can be repeated and a recomputed value is the
// same.
#pragma once

#include "antichain/ops/operand.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

/// Returns the key (i64[2]: seed, run number) of the run; inside a chain or loop each step gets its
/// own.
Var random_key(Graph& graph);
/// Returns another key, independent of the first, for every number (an i64 scalar, counted modulo
/// 2^63). Of a list of numbers (i64[n]), or of a list of keys (i64[n, 2]), a list of keys.
Var fold_in(const Operand& key, const Operand& number);

struct RandomOptions {
  // None: random_key(), with a stream of its own for each call. A given key determines the draw:
  // two draws with the same key are not independent, use fold_in(). A list of keys, i64[n, 2],
  // makes a draw with each: the result has one more axis in front.
  Var key = {};
};
/// Draws from [0, 1); the 16-bit types round the f32 value, which may give 1.
Var random_uniform(Graph& graph, DType dtype, const Dims& shape, const RandomOptions& options = {},
                   Place place = Place::current());
/// Draws from the standard normal distribution.
Var random_normal(Graph& graph, DType dtype, const Dims& shape, const RandomOptions& options = {},
                  Place place = Place::current());
/// Draws true with the given probability, element by element.
Var random_bernoulli(Graph& graph, double probability, const Dims& shape,
                     const RandomOptions& options = {}, Place place = Place::current());
/// Draws an order of 0 … size - 1 (i64).
Var random_permutation(Graph& graph, Dim size, const RandomOptions& options = {},
                       Place place = Place::current());

/// Names the state that holds seed and run number.
inline constexpr std::string_view kRandomState = "antichain.random";

const OpDef& fold_in_def();
const OpDef& random_uniform_def();
const OpDef& random_normal_def();
const OpDef& random_bernoulli_def();
const OpDef& random_permutation_def();

std::vector<const OpDef*> random_family();

}  // namespace antichain
