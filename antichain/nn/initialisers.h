// Initialisers: functions that build the first value of a parameter.
//
// The fans of a weight are its numbers of inputs and outputs per element: those of a matrix
// [in, out] are in and out, those of a convolution's weight [out, in, spatial...] are in and out
// times the size of the window.
#pragma once

#include <functional>

#include "antichain/graph/graph.h"

namespace antichain::nn {

/// Builds a value of that type and shape.
using Initialiser = std::function<Var(Graph& graph, DType dtype, const Dims& shape)>;
/// Builds the first value of a bias from that of the weight.
using BiasInitialiser = std::function<Var(Var weight)>;

/// Draws a weight from [-a, a) with a = sqrt(6 / (fan in + fan out)) (Glorot and Bengio, 2010,
/// equation 16): keeps the variance of values and gradients through tanh-like layers.
Var glorot_uniform(Graph& graph, DType dtype, const Dims& shape);
/// Draws a weight from the normal distribution of variance 2 / (fan in + fan out) (Glorot and
/// Bengio, 2010, equation 12).
Var glorot_normal(Graph& graph, DType dtype, const Dims& shape);
/// Draws a weight from [-a, a) with a = sqrt(6 / fan in), which has the variance of he_normal.
Var he_uniform(Graph& graph, DType dtype, const Dims& shape);
/// Draws a weight from the normal distribution of variance 2 / fan in (He et al., 2015, equation
/// 10): keeps the variance of values through relu layers.
Var he_normal(Graph& graph, DType dtype, const Dims& shape);
/// Draws a weight whose rows (or columns, whichever are fewer) are orthonormal, all directions
/// being equally likely (Saxe, McClelland and Ganguli, 2014). The axes behind the first are taken
/// as one.
Var orthogonal(Graph& graph, DType dtype, const Dims& shape);

/// Returns the initialiser that sets every element to `value`.
Initialiser constant(double value);
/// Returns the initialiser that draws from [low, high).
Initialiser uniform(double low, double high);
/// Returns the initialiser that draws from that normal distribution.
Initialiser normal(double mean = 0, double standard_deviation = 1);

struct BoxOptions {
  double side = 1;    // of the box that the inputs come from
  double height = 1;  // what each unit reaches in the box
};
/// Returns the box initialisation of a relu layer's weight [in, out] (Cyr, Gulian, Patel, Perego
/// and Trask, 2020, section 3): unit j is relu(k n·(x - p)) with a point p drawn from the box [0,
/// side]^in, a direction n drawn from the sphere, and the slope k that makes `height` the greatest
/// value in the box, k = height / (n·(corner - p)) with corner_i = side where n_i > 0, else 0. Use
/// it with box_bias. Layer l of a residual network of L layers takes side = (1 + 1/L)^l and height
/// = 1/L, so that values stay in the box of the next layer.
Initialiser box(const BoxOptions& options = {});
/// Returns the bias that belongs to box: -k n·p = height - side * sum of max(weight, 0) over in.
BiasInitialiser box_bias(const BoxOptions& options = {});

}  // namespace antichain::nn
