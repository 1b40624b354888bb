// Gradients of activations as one op each, instead of one per arithmetic operation. Every argument
// called y is the result of the function, x its argument.
#include <numbers>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/elementwise_functors.h"
#include "antichain/ops/elementwise/elementwise_row.h"

namespace antichain {

namespace {

using Xs = std::span<const Var>;
using Vars = std::vector<Var>;

}  // namespace

const OpDef& relu_gradient_def() {
  static const OpDef def = binary_op<functors::ReluGradient, false>(
      {.name = "relu_gradient",
       .doc = "grad where y > 0, else 0: the gradient of relu.",
       .self = relu_gradient_def,
       .partials = [](Xs x, Var) -> Vars {
         return {cast(greater(x[1], 0), x[1].dtype()), Var()};
       }});
  return def;
}

const OpDef& tanh_gradient_def() {
  static const OpDef def =
      binary_op<functors::TanhGradient, false>({.name = "tanh_gradient",
                                                .doc = "grad * (1 - y^2): the gradient of tanh.",
                                                .self = tanh_gradient_def,
                                                .partials = [](Xs x, Var) -> Vars {
                                                  return {1 - square(x[1]), -2 * x[0] * x[1]};
                                                }});
  return def;
}

const OpDef& sigmoid_gradient_def() {
  static const OpDef def = binary_op<functors::SigmoidGradient, false>(
      {.name = "sigmoid_gradient",
       .doc = "grad * y * (1 - y): the gradient of sigmoid.",
       .self = sigmoid_gradient_def,
       .partials = [](Xs x, Var) -> Vars {
         return {x[1] * (1 - x[1]), x[0] * (1 - 2 * x[1])};
       }});
  return def;
}

const OpDef& gelu_gradient_def() {
  static const OpDef def = binary_op<functors::GeluGradient, false>(
      {.name = "gelu_gradient",
       .doc = "grad * (Phi(x) + x * phi(x)), phi the normal density: the gradient of gelu.",
       .self = gelu_gradient_def,
       .partials = [](Xs xs, Var) -> Vars {
         const Var x = xs[1];
         const Var density = 1 / std::sqrt(2 * std::numbers::pi) * exp(-0.5 * square(x));
         return {0.5 * (1 + erf(std::sqrt(0.5) * x)) + x * density,
                 xs[0] * density * (2 - square(x))};
       }});
  return def;
}

Var relu_gradient(const Operand& grad, const Operand& y) {
  return apply(relu_gradient_def(), {grad, y});
}
Var tanh_gradient(const Operand& grad, const Operand& y) {
  return apply(tanh_gradient_def(), {grad, y});
}
Var sigmoid_gradient(const Operand& grad, const Operand& y) {
  return apply(sigmoid_gradient_def(), {grad, y});
}
Var gelu_gradient(const Operand& grad, const Operand& x) {
  return apply(gelu_gradient_def(), {grad, x});
}

std::vector<const OpDef*> elementwise_gradient_family() {
  return {&relu_gradient_def(), &tanh_gradient_def(), &sigmoid_gradient_def(),
          &gelu_gradient_def()};
}

}  // namespace antichain
