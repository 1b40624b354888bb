// The element-wise ops of one value.
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/elementwise_functors.h"
#include "antichain/ops/elementwise/elementwise_row.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

namespace {

using Xs = std::span<const Var>;
using Vars = std::vector<Var>;

constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

Var zero_like(Var x) { return scalar(x.graph(), x.dtype(), 0); }

// The replacement f(f(x)) -> x or f(x), for functions that undo or repeat themselves.
Rewrite on_itself(const OpDef& (*self)(), std::string name, bool undoes) {
  return {std::move(name),
          [self, undoes](Op op) -> std::optional<std::vector<Var>> {
            const Var x = op.input(0);
            if (op.graph().is_region_param(x) || &x.producer().def() != &self()) {
              return std::nullopt;
            }
            return std::vector<Var>{undoes ? x.producer().input(0) : x};
          },
          {"twice", {{{3, 2}}}, [self](Graph& graph, std::span<const Var> in) {
             return graph.add(self(), {graph.add(self(), {in[0]}).output()}).outputs();
           }}};
}

}  // namespace

const OpDef& negate_def() {
  static const OpDef def = unary_op<functors::Negate, true>(
      {.name = "negate",
       .doc = "Changes the sign.",
       .self = negate_def,
       .dtypes = kNumbers,
       .partials = [](Xs x, Var) -> Vars { return {scalar(x[0].graph(), x[0].dtype(), -1)}; },
       .rewrites = {on_itself(negate_def, "-(-x) -> x", true)}});
  return def;
}

const OpDef& abs_def() {
  static const OpDef def = unary_op<functors::Abs, true>(
      {.name = "abs",
       .doc = "Absolute value; its slope at 0 is 0.",
       .self = abs_def,
       .dtypes = kNumbers,
       .partials = [](Xs x, Var) -> Vars { return {sign(x[0])}; },
       .rewrites = {on_itself(abs_def, "abs(abs(x)) -> abs(x)", false)}});
  return def;
}

const OpDef& sign_def() {
  static const OpDef def = unary_op<functors::Sign, true>(
      {.name = "sign",
       .doc = "-1, 0 or 1.",
       .self = sign_def,
       .dtypes = kNumbers,
       .partials = [](Xs x, Var) -> Vars { return {zero_like(x[0])}; }});
  return def;
}

const OpDef& floor_def() {
  static const OpDef def = unary_op<functors::Floor>(
      {.name = "floor",
       .doc = "Rounds down; its slope is 0.",
       .self = floor_def,
       .partials = [](Xs x, Var) -> Vars { return {zero_like(x[0])}; },
       .rewrites = {on_itself(floor_def, "floor(floor(x)) -> floor(x)", false)}});
  return def;
}

const OpDef& ceil_def() {
  static const OpDef def = unary_op<functors::Ceil>(
      {.name = "ceil",
       .doc = "Rounds up; its slope is 0.",
       .self = ceil_def,
       .partials = [](Xs x, Var) -> Vars { return {zero_like(x[0])}; },
       .rewrites = {on_itself(ceil_def, "ceil(ceil(x)) -> ceil(x)", false)}});
  return def;
}

const OpDef& round_def() {
  static const OpDef def = unary_op<functors::Round>(
      {.name = "round",
       .doc = "Rounds to the nearest integer, halves to even; its slope is 0.",
       .self = round_def,
       .partials = [](Xs x, Var) -> Vars { return {zero_like(x[0])}; },
       .rewrites = {on_itself(round_def, "round(round(x)) -> round(x)", false)}});
  return def;
}

const OpDef& exp_def() {
  static const OpDef def =
      unary_op<functors::Exp>({.name = "exp",
                               .doc = "e to the power of x.",
                               .self = exp_def,
                               .partials = [](Xs, Var y) -> Vars { return {y}; }});
  return def;
}

const OpDef& expm1_def() {
  static const OpDef def =
      unary_op<functors::Expm1>({.name = "expm1",
                                 .doc = "exp(x) - 1, exact near 0.",
                                 .self = expm1_def,
                                 .partials = [](Xs, Var y) -> Vars { return {y + 1}; }});
  return def;
}

const OpDef& log_def() {
  static const OpDef def =
      unary_op<functors::Log>({.name = "log",
                               .doc = "Natural logarithm.",
                               .self = log_def,
                               .low = 0.1,
                               .high = 4,
                               .partials = [](Xs x, Var) -> Vars { return {reciprocal(x[0])}; }});
  return def;
}

const OpDef& log1p_def() {
  static const OpDef def = unary_op<functors::Log1p>(
      {.name = "log1p",
       .doc = "log(1 + x), exact near 0.",
       .self = log1p_def,
       .low = -0.8,
       .partials = [](Xs x, Var) -> Vars { return {reciprocal(x[0] + 1)}; }});
  return def;
}

const OpDef& sqrt_def() {
  static const OpDef def =
      unary_op<functors::Sqrt>({.name = "sqrt",
                                .doc = "Square root.",
                                .self = sqrt_def,
                                .low = 0.1,
                                .high = 4,
                                .partials = [](Xs, Var y) -> Vars { return {0.5 / y}; }});
  return def;
}

const OpDef& rsqrt_def() {
  static const OpDef def = unary_op<functors::Rsqrt>(
      {.name = "rsqrt",
       .doc = "1 / sqrt(x).",
       .self = rsqrt_def,
       .low = 0.2,
       .high = 4,
       .partials = [](Xs x, Var y) -> Vars { return {-0.5 * y / x[0]}; }});
  return def;
}

const OpDef& reciprocal_def() {
  static const OpDef def =
      unary_op<functors::Reciprocal>({.name = "reciprocal",
                                      .doc = "1 / x.",
                                      .self = reciprocal_def,
                                      .low = 0.3,
                                      .high = 3,
                                      .partials = [](Xs, Var y) -> Vars { return {-(y * y)}; }});
  return def;
}

const OpDef& square_def() {
  static const OpDef def =
      unary_op<functors::Square, true>({.name = "square",
                                        .doc = "x * x.",
                                        .self = square_def,
                                        .dtypes = kNumbers,
                                        .partials = [](Xs x, Var) -> Vars { return {2 * x[0]}; }});
  return def;
}

const OpDef& sin_def() {
  static const OpDef def = unary_op<functors::Sin>(
      {.name = "sin", .doc = "Sine.", .self = sin_def, .partials = [](Xs x, Var) -> Vars {
         return {cos(x[0])};
       }});
  return def;
}

const OpDef& cos_def() {
  static const OpDef def = unary_op<functors::Cos>(
      {.name = "cos", .doc = "Cosine.", .self = cos_def, .partials = [](Xs x, Var) -> Vars {
         return {-sin(x[0])};
       }});
  return def;
}

const OpDef& erf_def() {
  static const OpDef def = unary_op<functors::Erf>(
      {.name = "erf", .doc = "Error function.", .self = erf_def, .partials = [](Xs x, Var) -> Vars {
         return {kTwoOverSqrtPi * exp(-square(x[0]))};
       }});
  return def;
}

const OpDef& tanh_def() {
  static const OpDef def = unary_op<functors::Tanh>(
      {.name = "tanh",
       .doc = "Hyperbolic tangent.",
       .self = tanh_def,
       .pullback = [](Var grad, Var, Var y) { return tanh_gradient(grad, y); }});
  return def;
}

const OpDef& sigmoid_def() {
  static const OpDef def = unary_op<functors::Sigmoid>(
      {.name = "sigmoid",
       .doc = "1 / (1 + exp(-x)).",
       .self = sigmoid_def,
       .pullback = [](Var grad, Var, Var y) { return sigmoid_gradient(grad, y); }});
  return def;
}

const OpDef& softplus_def() {
  static const OpDef def =
      unary_op<functors::Softplus>({.name = "softplus",
                                    .doc = "log(1 + exp(x)) without overflow.",
                                    .self = softplus_def,
                                    .partials = [](Xs x, Var) -> Vars { return {sigmoid(x[0])}; }});
  return def;
}

const OpDef& relu_def() {
  static const OpDef def = unary_op<functors::Relu, true>(
      {.name = "relu",
       .doc = "max(x, 0); its slope at 0 is 0.",
       .self = relu_def,
       .dtypes = kNumbers,
       .pullback = [](Var grad, Var, Var y) { return relu_gradient(grad, y); },
       .rewrites = {on_itself(relu_def, "relu(relu(x)) -> relu(x)", false)}});
  return def;
}

const OpDef& smooth_relu_def() {
  static const OpDef def = unary_op<functors::SmoothRelu>(
      {.name = "smooth_relu",
       .doc = "relu with a quadratic piece, (x + 0.1)^2 / 0.4, where |x| < 0.1: its slope is "
              "continuous.",
       .self = smooth_relu_def,
       .partials = [](Xs x, Var) -> Vars { return {clip(5 * x[0] + 0.5, 0, 1)}; }});
  return def;
}

const OpDef& gelu_def() {
  static const OpDef def = unary_op<functors::Gelu>(
      {.name = "gelu",
       .doc = "x * Phi(x), Phi the normal distribution function.",
       .self = gelu_def,
       .pullback = [](Var grad, Var x, Var) { return gelu_gradient(grad, x); },
       .decompose = [](Op op) -> Vars {
         const Var x = op.input(0);
         return {0.5 * x * (1 + erf(std::sqrt(0.5) * x))};
       }});
  return def;
}

const OpDef& silu_def() {
  static const OpDef def = unary_op<functors::Silu>(
      {.name = "silu",
       .doc = "x * sigmoid(x).",
       .self = silu_def,
       .partials = [](Xs x, Var y) -> Vars {
         const Var s = sigmoid(x[0]);
         return {s + y * (1 - s)};
       },
       .decompose = [](Op op) -> Vars { return {op.input(0) * sigmoid(op.input(0))}; }});
  return def;
}

const OpDef& logical_not_def() {
  static const OpDef def =
      unary_op<functors::LogicalNot, true>({.name = "logical_not",
                                            .doc = "True where x is false or 0.",
                                            .self = logical_not_def,
                                            .dtypes = kAnyDType,
                                            .predicate = true,
                                            .low = -1,
                                            .high = 2});
  return def;
}

const OpDef& is_finite_def() {
  static const OpDef def =
      unary_op<functors::IsFinite>({.name = "is_finite",
                                    .doc = "True where x is neither infinite nor NaN.",
                                    .self = is_finite_def,
                                    .predicate = true});
  return def;
}

Var negate(const Operand& x) { return apply(negate_def(), {x}); }
Var operator-(const Operand& x) { return apply(negate_def(), {x}); }
Var abs(const Operand& x) { return apply(abs_def(), {x}); }
Var sign(const Operand& x) { return apply(sign_def(), {x}); }
Var floor(const Operand& x) { return apply(floor_def(), {x}); }
Var ceil(const Operand& x) { return apply(ceil_def(), {x}); }
Var round(const Operand& x) { return apply(round_def(), {x}); }
Var exp(const Operand& x) { return apply(exp_def(), {x}); }
Var expm1(const Operand& x) { return apply(expm1_def(), {x}); }
Var log(const Operand& x) { return apply(log_def(), {x}); }
Var log1p(const Operand& x) { return apply(log1p_def(), {x}); }
Var sqrt(const Operand& x) { return apply(sqrt_def(), {x}); }
Var rsqrt(const Operand& x) { return apply(rsqrt_def(), {x}); }
Var reciprocal(const Operand& x) { return apply(reciprocal_def(), {x}); }
Var square(const Operand& x) { return apply(square_def(), {x}); }
Var sin(const Operand& x) { return apply(sin_def(), {x}); }
Var cos(const Operand& x) { return apply(cos_def(), {x}); }
Var erf(const Operand& x) { return apply(erf_def(), {x}); }
Var tanh(const Operand& x) { return apply(tanh_def(), {x}); }
Var sigmoid(const Operand& x) { return apply(sigmoid_def(), {x}); }
Var softplus(const Operand& x) { return apply(softplus_def(), {x}); }
Var relu(const Operand& x) { return apply(relu_def(), {x}); }
Var smooth_relu(const Operand& x) { return apply(smooth_relu_def(), {x}); }
Var gelu(const Operand& x) { return apply(gelu_def(), {x}); }
Var silu(const Operand& x) { return apply(silu_def(), {x}); }
Var logical_not(const Operand& x) { return apply(logical_not_def(), {x}); }
Var is_finite(const Operand& x) { return apply(is_finite_def(), {x}); }

std::vector<const OpDef*> elementwise_unary_family() {
  return {&negate_def(),      &abs_def(),         &sign_def(),    &floor_def(),
          &ceil_def(),        &round_def(),       &exp_def(),     &expm1_def(),
          &log_def(),         &log1p_def(),       &sqrt_def(),    &rsqrt_def(),
          &reciprocal_def(),  &square_def(),      &sin_def(),     &cos_def(),
          &erf_def(),         &tanh_def(),        &sigmoid_def(), &softplus_def(),
          &relu_def(),        &smooth_relu_def(), &gelu_def(),    &silu_def(),
          &logical_not_def(), &is_finite_def()};
}

}  // namespace antichain
