// Element-wise ops with NumPy broadcasting. Each is one row of a table: functor, domain, partial
// derivatives.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

// Arithmetic.
Var add(const Operand& a, const Operand& b);
Var subtract(const Operand& a, const Operand& b);
Var multiply(const Operand& a, const Operand& b);
/// Divides floats.
Var divide(const Operand& a, const Operand& b);
/// Divides rounding down; an integer divided by 0 gives 0.
Var floor_divide(const Operand& a, const Operand& b);
/// Returns a - floor_divide(a, b) * b, which has the sign of b; an integer modulo 0 gives 0.
Var modulo(const Operand& a, const Operand& b);
Var pow(const Operand& base, const Operand& exponent);
/// Takes the smaller element; at a tie each side gets half of the gradient.
Var minimum(const Operand& a, const Operand& b);
Var maximum(const Operand& a, const Operand& b);
Var negate(const Operand& x);
Var operator+(const Operand& a, const Operand& b);
Var operator-(const Operand& a, const Operand& b);
Var operator*(const Operand& a, const Operand& b);
Var operator/(const Operand& a, const Operand& b);
Var operator-(const Operand& x);

// Functions of one value.
Var abs(const Operand& x);
Var sign(const Operand& x);
Var floor(const Operand& x);
Var ceil(const Operand& x);
/// Rounds to the nearest integer, halves to even.
Var round(const Operand& x);
Var exp(const Operand& x);
Var expm1(const Operand& x);
Var log(const Operand& x);
Var log1p(const Operand& x);
Var sqrt(const Operand& x);
Var rsqrt(const Operand& x);
Var reciprocal(const Operand& x);
Var square(const Operand& x);
Var sin(const Operand& x);
Var cos(const Operand& x);
Var erf(const Operand& x);
Var tanh(const Operand& x);
Var sigmoid(const Operand& x);
/// Returns log(1 + exp(x)) without overflow.
Var softplus(const Operand& x);
Var relu(const Operand& x);
/// Returns relu with a quadratic piece where |x| < 0.1 (Günther et al., 2020).
Var smooth_relu(const Operand& x);
/// Returns x * Phi(x) with the exact normal distribution function.
Var gelu(const Operand& x);
/// Returns x * sigmoid(x).
Var silu(const Operand& x);
/// Keeps values within [low, high].
Var clip(const Operand& x, double low, double high);

// Comparison and logic: bool results.
Var equal(const Operand& a, const Operand& b);
Var not_equal(const Operand& a, const Operand& b);
Var less(const Operand& a, const Operand& b);
Var less_equal(const Operand& a, const Operand& b);
Var greater(const Operand& a, const Operand& b);
Var greater_equal(const Operand& a, const Operand& b);
Var logical_and(const Operand& a, const Operand& b);
Var logical_or(const Operand& a, const Operand& b);
Var logical_xor(const Operand& a, const Operand& b);
Var logical_not(const Operand& x);
Var is_finite(const Operand& x);

// Gradients of activations: what comes back times the slope, at the result y or the argument x.
Var relu_gradient(const Operand& grad, const Operand& y);
Var tanh_gradient(const Operand& grad, const Operand& y);
Var sigmoid_gradient(const Operand& grad, const Operand& y);
Var gelu_gradient(const Operand& grad, const Operand& x);

/// Takes elements of `yes` where `condition` holds, of `no` elsewhere.
Var select(const Operand& condition, const Operand& yes, const Operand& no);
/// Converts to another element type: floats to integers by truncation, saturating, NaN to 0.
Var cast(const Operand& x, DType dtype);

const OpDef& add_def();
const OpDef& subtract_def();
const OpDef& multiply_def();
const OpDef& select_def();
const OpDef& cast_def();
const OpDef& clip_def();

std::vector<const OpDef*> elementwise_unary_family();
std::vector<const OpDef*> elementwise_binary_family();
std::vector<const OpDef*> elementwise_gradient_family();
std::vector<const OpDef*> elementwise_other_family();

}  // namespace antichain
