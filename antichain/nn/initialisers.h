// Initialisers: functions that build the first value of a parameter.
#pragma once

#include <functional>

#include "antichain/graph/graph.h"

namespace antichain::nn {

/// Builds a value of that type and shape.
using Initialiser = std::function<Var(Graph& graph, DType dtype, const Dims& shape)>;

/// Draws a weight [in, out] from [-a, a) with a = sqrt(6 / (in + out)) (Glorot and Bengio, 2010,
/// equation 16): keeps the variance of values and gradients through tanh-like layers.
Var glorot_uniform(Graph& graph, DType dtype, const Dims& shape);
/// Draws a weight [in, out] from the normal distribution of variance 2 / in (He et al., 2015,
/// equation 10): keeps the variance of values through relu layers.
Var he_normal(Graph& graph, DType dtype, const Dims& shape);
/// Returns the initialiser that sets every element to `value`.
Initialiser constant(double value);

}  // namespace antichain::nn
