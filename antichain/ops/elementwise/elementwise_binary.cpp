// The element-wise ops of two values.
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/elementwise_functors.h"
#include "antichain/ops/elementwise/elementwise_row.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

using Xs = std::span<const Var>;
using Vars = std::vector<Var>;

Var number(Var like, double value) { return scalar(like.graph(), like.dtype(), value); }
Var as_number(Var condition, Var like) { return cast(condition, like.dtype()); }

bool is_constant(Var x, double value) {
  if (made_by(x, broadcast_to_def())) {  // ones_like(y), for example
    x = x.producer().input(0);
  }
  if (x.graph().is_region_param(x) || &x.producer().def() != &constant_def() ||
      !(numel(x.shape()) == Dim(1))) {
    return false;
  }
  const double found = x.producer().attrs().get<Tensor>("value").item<double>();
  return found == value && (!is_float(x.dtype()) || std::signbit(found) == std::signbit(value));
}

// The replacement f(x, value) -> x, exact for every x (also NaN and the signed zeros). `commutes`
// also tries f(value, x).
Rewrite neutral(const OpDef& (*self)(), std::string name, double value, bool commutes) {
  return {std::move(name),
          [value, commutes](Op op) -> std::optional<std::vector<Var>> {
            const Dims& shape = op.output().shape();
            for (int side = 0; side < (commutes ? 2 : 1); ++side) {
              if (is_constant(op.input(1 - side), value) && op.input(side).shape() == shape &&
                  op.graph().constraints(op).empty()) {
                return std::vector<Var>{op.input(side)};
              }
            }
            return std::nullopt;
          },
          {"constant", {{{2, 3}}}, [self, value](Graph& graph, std::span<const Var> in) {
             return graph.add(self(), {in[0], number(in[0], value)}).outputs();
           }}};
}

ElementwiseRow predicate(std::string name, std::string doc, const OpDef& (*self)()) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .self = self,
          .dtypes = kNumbers,
          .predicate = true};
}

ElementwiseRow logic(std::string name, std::string doc, const OpDef& (*self)()) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .self = self,
          .dtypes = kAnyDType,
          .predicate = true,
          .low = -1,
          .high = 2};
}

}  // namespace

const OpDef& add_def() {
  static const OpDef def =
      binary_op<functors::Add>({.name = "add",
                                .doc = "a + b.",
                                .self = add_def,
                                .dtypes = kNumbers,
                                .partials = [](Xs x, Var) -> Vars {
                                  return {number(x[0], 1), number(x[0], 1)};
                                },
                                // x + (-0) is x for every float; x + 0 is not, for x = -0.
                                .rewrites = {neutral(add_def, "x + (-0) -> x", -0.0, true)},
                                .on_dims = [](Dim a, Dim b) { return a + b; }});
  return def;
}

const OpDef& subtract_def() {
  static const OpDef def =
      binary_op<functors::Subtract>({.name = "subtract",
                                     .doc = "a - b.",
                                     .self = subtract_def,
                                     .dtypes = kNumbers,
                                     .partials = [](Xs x, Var) -> Vars {
                                       return {number(x[0], 1), number(x[0], -1)};
                                     },
                                     .rewrites = {neutral(subtract_def, "x - 0 -> x", 0, false)},
                                     .on_dims = [](Dim a, Dim b) { return a - b; }});
  return def;
}

const OpDef& multiply_def() {
  static const OpDef def =
      binary_op<functors::Multiply>({.name = "multiply",
                                     .doc = "a * b.",
                                     .self = multiply_def,
                                     .dtypes = kNumbers,
                                     .partials = [](Xs x, Var) -> Vars {
                                       return {x[1], x[0]};
                                     },
                                     .rewrites = {neutral(multiply_def, "x * 1 -> x", 1, true)},
                                     .on_dims = [](Dim a, Dim b) { return a * b; }});
  return def;
}

const OpDef& divide_def() {
  static const OpDef def = binary_op<functors::Divide, false>(
      {.name = "divide",
       .doc = "a / b for floats.",
       .self = divide_def,
       .low = 0.3,
       .high = 3,
       .partials = [](Xs x, Var y) -> Vars {
         return {reciprocal(x[1]), -y / x[1]};
       },
       .rewrites = {neutral(divide_def, "x / 1 -> x", 1, false)}});
  return def;
}

const OpDef& floor_divide_def() {
  static const OpDef def = binary_op<functors::FloorDivide>(
      {.name = "floor_divide",
       .doc = "a / b rounded down; an integer divided by 0 gives 0.",
       .self = floor_divide_def,
       .dtypes = kNumbers,
       .low = 1,
       .high = 9,
       .partials = [](Xs x, Var) -> Vars {
         return {number(x[0], 0), number(x[0], 0)};
       },
       .on_dims = [](Dim a, Dim b) { return b == Dim(0) ? Dim(0) : a / b; }});
  return def;
}

const OpDef& modulo_def() {
  static const OpDef def = binary_op<functors::Modulo>(
      {.name = "modulo",
       .doc = "a - floor_divide(a, b) * b; an integer modulo 0 gives 0.",
       .self = modulo_def,
       .dtypes = kNumbers,
       .low = 1,
       .high = 9,
       .partials = [](Xs x, Var) -> Vars {
         return {number(x[0], 1), -floor_divide(x[0], x[1])};
       },
       .on_dims = [](Dim a, Dim b) { return b == Dim(0) ? Dim(0) : a % b; }});
  return def;
}

const OpDef& pow_def() {
  static const OpDef def =
      binary_op<functors::Pow, false>({.name = "pow",
                                       .doc = "a to the power of b.",
                                       .self = pow_def,
                                       .low = 0.3,
                                       .high = 2.5,
                                       .partials = [](Xs x, Var y) -> Vars {
                                         // log(a) only where a > 0: a negative base has no slope in
                                         // the exponent, and 0 * log(0) must not be NaN.
                                         const Var positive = greater(x[0], 0);
                                         const Var safe = select(positive, x[0], ones_like(x[0]));
                                         // The slope of a ** 0 is 0 also at a = 0, not 0 / 0.
                                         const Var pole =
                                             logical_and(equal(x[0], 0), equal(x[1], 0));
                                         const Var less_one = select(pole, 0, x[1] - 1);
                                         return {x[1] * pow(x[0], less_one), y * log(safe)};
                                       },
                                       .rewrites = {neutral(pow_def, "x ** 1 -> x", 1, false)}});
  return def;
}

const OpDef& minimum_def() {
  static const OpDef def = binary_op<functors::Minimum>(
      {.name = "minimum",
       .doc = "The smaller of two; at a tie each gets half of the gradient.",
       .self = minimum_def,
       .dtypes = kNumbers,
       .partials = [](Xs x, Var) -> Vars {
         const Var tie = 0.5 * as_number(equal(x[0], x[1]), x[0]);
         return {as_number(less(x[0], x[1]), x[0]) + tie, as_number(less(x[1], x[0]), x[0]) + tie};
       },
       .on_dims = [](Dim a, Dim b) { return min(a, b); }});
  return def;
}

const OpDef& maximum_def() {
  static const OpDef def = binary_op<functors::Maximum>(
      {.name = "maximum",
       .doc = "The larger of two; at a tie each gets half of the gradient.",
       .self = maximum_def,
       .dtypes = kNumbers,
       .partials = [](Xs x, Var) -> Vars {
         const Var tie = 0.5 * as_number(equal(x[0], x[1]), x[0]);
         return {as_number(greater(x[0], x[1]), x[0]) + tie,
                 as_number(greater(x[1], x[0]), x[0]) + tie};
       },
       .on_dims = [](Dim a, Dim b) { return max(a, b); }});
  return def;
}

const OpDef& equal_def() {
  static const OpDef def = binary_op<functors::Equal>([] {
    ElementwiseRow row = predicate("equal", "a == b.", equal_def);
    row.dtypes = kAnyDType;
    return row;
  }());
  return def;
}

const OpDef& not_equal_def() {
  static const OpDef def = binary_op<functors::NotEqual>([] {
    ElementwiseRow row = predicate("not_equal", "a != b.", not_equal_def);
    row.dtypes = kAnyDType;
    return row;
  }());
  return def;
}

const OpDef& less_def() {
  static const OpDef def = binary_op<functors::Less>(predicate("less", "a < b.", less_def));
  return def;
}

const OpDef& less_equal_def() {
  static const OpDef def =
      binary_op<functors::LessEqual>(predicate("less_equal", "a <= b.", less_equal_def));
  return def;
}

const OpDef& greater_def() {
  static const OpDef def =
      binary_op<functors::Greater>(predicate("greater", "a > b.", greater_def));
  return def;
}

const OpDef& greater_equal_def() {
  static const OpDef def =
      binary_op<functors::GreaterEqual>(predicate("greater_equal", "a >= b.", greater_equal_def));
  return def;
}

const OpDef& logical_and_def() {
  static const OpDef def =
      binary_op<functors::LogicalAnd>(logic("logical_and", "Both are not 0.", logical_and_def));
  return def;
}

const OpDef& logical_or_def() {
  static const OpDef def =
      binary_op<functors::LogicalOr>(logic("logical_or", "One of them is not 0.", logical_or_def));
  return def;
}

const OpDef& logical_xor_def() {
  static const OpDef def = binary_op<functors::LogicalXor>(
      logic("logical_xor", "Exactly one of them is not 0.", logical_xor_def));
  return def;
}

Var add(const Operand& a, const Operand& b) { return apply(add_def(), {a, b}); }
Var subtract(const Operand& a, const Operand& b) { return apply(subtract_def(), {a, b}); }
Var multiply(const Operand& a, const Operand& b) { return apply(multiply_def(), {a, b}); }
Var divide(const Operand& a, const Operand& b) { return apply(divide_def(), {a, b}); }
Var operator+(const Operand& a, const Operand& b) { return apply(add_def(), {a, b}); }
Var operator-(const Operand& a, const Operand& b) { return apply(subtract_def(), {a, b}); }
Var operator*(const Operand& a, const Operand& b) { return apply(multiply_def(), {a, b}); }
Var operator/(const Operand& a, const Operand& b) { return apply(divide_def(), {a, b}); }
Var floor_divide(const Operand& a, const Operand& b) { return apply(floor_divide_def(), {a, b}); }
Var modulo(const Operand& a, const Operand& b) { return apply(modulo_def(), {a, b}); }
Var pow(const Operand& base, const Operand& exponent) { return apply(pow_def(), {base, exponent}); }
Var minimum(const Operand& a, const Operand& b) { return apply(minimum_def(), {a, b}); }
Var maximum(const Operand& a, const Operand& b) { return apply(maximum_def(), {a, b}); }
Var equal(const Operand& a, const Operand& b) { return apply(equal_def(), {a, b}); }
Var not_equal(const Operand& a, const Operand& b) { return apply(not_equal_def(), {a, b}); }
Var less(const Operand& a, const Operand& b) { return apply(less_def(), {a, b}); }
Var less_equal(const Operand& a, const Operand& b) { return apply(less_equal_def(), {a, b}); }
Var greater(const Operand& a, const Operand& b) { return apply(greater_def(), {a, b}); }
Var greater_equal(const Operand& a, const Operand& b) { return apply(greater_equal_def(), {a, b}); }
Var logical_and(const Operand& a, const Operand& b) { return apply(logical_and_def(), {a, b}); }
Var logical_or(const Operand& a, const Operand& b) { return apply(logical_or_def(), {a, b}); }
Var logical_xor(const Operand& a, const Operand& b) { return apply(logical_xor_def(), {a, b}); }

std::vector<const OpDef*> elementwise_binary_family() {
  return {&add_def(),          &subtract_def(),   &multiply_def(),      &divide_def(),
          &floor_divide_def(), &modulo_def(),     &pow_def(),           &minimum_def(),
          &maximum_def(),      &equal_def(),      &not_equal_def(),     &less_def(),
          &less_equal_def(),   &greater_def(),    &greater_equal_def(), &logical_and_def(),
          &logical_or_def(),   &logical_xor_def()};
}

}  // namespace antichain
