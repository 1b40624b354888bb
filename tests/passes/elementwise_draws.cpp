// Random element-wise ops, casts and random numbers.
#include <algorithm>
#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/random.h"
#include "tests/passes/graph_drawer.h"

namespace antichain {

namespace {

struct Unary {
  Var (*apply)(Var x);
  double (*bound)(double);
  bool exact = false;
  bool jumps = false;  // only of values that every way of computing gives the same bits
};

double one(double) { return 1; }
double same(double bound) { return bound; }

bool draw_unary(GraphDrawer& drawer) {
  static const std::vector<Unary> kAll = {
      {[](Var x) { return negate(x); }, same, true},
      {[](Var x) { return abs(x); }, same, true},
      {[](Var x) { return relu(x); }, same, true},
      {[](Var x) { return clip(x, -0.7, 1.3); }, [](double) { return 1.3; }, true},
      {[](Var x) { return sign(x); }, one, true, true},
      {[](Var x) { return floor(x); }, [](double bound) { return bound + 1; }, true, true},
      {[](Var x) { return round(x); }, [](double bound) { return bound + 1; }, true, true},
      {[](Var x) { return square(x); }, [](double bound) { return bound * bound; }},
      {[](Var x) { return exp(x); }, [](double bound) { return std::exp(bound); }},
      {[](Var x) { return expm1(x); }, [](double bound) { return std::exp(bound); }},
      {[](Var x) { return sin(x); }, one},
      {[](Var x) { return cos(x); }, one},
      {[](Var x) { return tanh(x); }, one},
      {[](Var x) { return sigmoid(x); }, one},
      {[](Var x) { return erf(x); }, one},
      {[](Var x) { return softplus(x); }, [](double bound) { return bound + 1; }},
      {[](Var x) { return gelu(x); }, same},
      {[](Var x) { return silu(x); }, same},
      {[](Var x) { return log1p(abs(x)); }, same},
      {[](Var x) { return log(square(x) + 0.5); }, [](double bound) { return bound + 1; }},
      {[](Var x) { return sqrt(square(x) + 0.5); }, [](double bound) { return bound + 1; }},
      {[](Var x) { return rsqrt(square(x) + 0.5); }, [](double) { return 2.0; }},
      {[](Var x) { return reciprocal(abs(x) + 0.5); }, [](double) { return 2.0; }},
      {[](Var x) { return x * 1.0; }, same, true},
      {[](Var x) { return x + 0.0; }, same, true},
      {[](Var x) { return pow(x, 2.0); }, [](double bound) { return bound * bound; }},
  };
  const Unary& op = drawer.one_of(kAll);
  const auto x = drawer.pick([&op](const DrawnValue& value) {
    return is_float(value.var) && (!op.jumps || value.tolerance == 0);
  });
  if (x) {
    drawer.keep(op.apply(x->var), op.bound(x->bound), {*x}, op.exact);
  }
  return x.has_value();
}

bool draw_binary(GraphDrawer& drawer) {
  const auto a = drawer.pick_float();
  if (!a) {
    return false;
  }
  const DrawnValue b = *drawer.pick_partner(*a);  // at least itself
  const double product = a->bound * b.bound, both = a->bound + b.bound;
  const double larger = std::max(a->bound, b.bound);
  switch (drawer.below(8)) {
    case 0: drawer.keep(a->var + b.var, both, {*a, b}); break;
    case 1: drawer.keep(a->var - b.var, both, {*a, b}); break;
    case 2: drawer.keep(a->var * b.var, product, {*a, b}); break;
    case 3: drawer.keep(a->var / (square(b.var) + 0.5), 2 * a->bound, {*a, b}); break;
    case 4: drawer.keep(maximum(a->var, b.var), larger, {*a, b}, true); break;
    case 5: drawer.keep(minimum(a->var, b.var), larger, {*a, b}, true); break;
    case 6: drawer.keep(a->var * 0.5 + b.var * a->var, a->bound + product, {*a, b}); break;
    default: drawer.keep(a->var * (drawer.chance(50) ? 2.0 : -0.3), 2 * a->bound, {*a}); break;
  }
  return true;
}

bool draw_integer(GraphDrawer& drawer) {
  const auto a = drawer.pick([](const DrawnValue& value) { return value.var.dtype() == i64; });
  if (!a) {
    return false;
  }
  const DrawnValue b = *drawer.pick_partner(*a);
  const double larger = std::max(a->bound, b.bound) + 1;
  switch (drawer.below(7)) {
    case 0: drawer.keep(a->var + b.var, a->bound + b.bound, {}, true); break;
    case 1: drawer.keep(a->var - b.var, a->bound + b.bound, {}, true); break;
    case 2: drawer.keep(a->var * b.var, a->bound * b.bound, {}, true); break;
    case 3: drawer.keep(floor_divide(a->var, b.var), larger, {}, true); break;
    case 4: drawer.keep(modulo(a->var, b.var), larger, {}, true); break;
    case 5: drawer.keep(maximum(a->var, b.var), larger, {}, true); break;
    default: drawer.keep(abs(a->var) + 1, a->bound + 1, {}, true); break;
  }
  return true;
}

bool draw_comparison(GraphDrawer& drawer) {
  const auto a = drawer.pick([](const DrawnValue& value) { return value.tolerance == 0; });
  if (!a) {
    return false;
  }
  const auto b = drawer.pick([&](const DrawnValue& value) {
    return value.tolerance == 0 && value.var.dtype() == a->var.dtype() &&
           value.var.shape() == a->var.shape();
  });
  if (a->var.dtype() == boolean) {
    const Var other = logical_not(b->var);
    drawer.keep(drawer.chance(50) ? logical_and(a->var, other) : logical_xor(a->var, other), 1, {},
                true);
  } else {
    drawer.keep(drawer.chance(50) ? less(a->var, b->var) : greater_equal(a->var, b->var), 1, {},
                true);
  }
  return true;
}

bool draw_select(GraphDrawer& drawer) {
  const auto where =
      drawer.pick([](const DrawnValue& value) { return value.var.dtype() == boolean; });
  const auto yes = drawer.pick_float();
  if (!where || !yes) {
    return false;
  }
  const auto no = drawer.pick_partner(*yes);
  const Var mask = cast(where->var, yes->var.dtype());
  const auto fits = [](const Dims& a, const Dims& b) { return a == b || a.empty(); };
  if (!fits(where->var.shape(), yes->var.shape()) || !fits(no->var.shape(), yes->var.shape())) {
    drawer.keep(mask, 1, {}, true);
  } else {
    drawer.keep(select(where->var, yes->var, no->var), std::max(yes->bound, no->bound), {*yes, *no},
                true);
  }
  return true;
}

bool draw_cast(GraphDrawer& drawer) {
  const DType type = drawer.one_of(std::vector<DType>{f32, f32, f64, bf16, i64});
  const auto x = drawer.pick([&](const DrawnValue& value) {
    return value.var.dtype() != type && (type != i64 || value.tolerance == 0);
  });
  if (x) {
    const bool widens = type == i64 || type == f64;
    drawer.keep(cast(x->var, type), x->bound, {*x}, widens || !is_float(x->var));
  }
  return x.has_value();
}

bool draw_random(GraphDrawer& drawer) {
  const auto like = drawer.pick_float();
  if (!like) {
    return false;
  }
  const DType dtype = like->var.dtype();
  const Dims& shape = like->var.shape();
  switch (drawer.below(3)) {
    case 0: drawer.keep(random_uniform(drawer.graph(), dtype, shape), 1, {}, true); break;
    case 1: drawer.keep(tanh(random_normal(drawer.graph(), dtype, shape)), 1, {}); break;
    default: {
      const Var kept = cast(random_bernoulli(drawer.graph(), 0.5, shape), dtype);
      drawer.keep(like->var * kept * 2.0, 2 * like->bound, {*like});  // dropout
    }
  }
  return true;
}

}  // namespace

std::vector<DrawFamily> elementwise_draws() {
  return {{draw_unary, 8},  {draw_binary, 10}, {draw_integer, 2}, {draw_comparison, 2},
          {draw_select, 2}, {draw_cast, 2},    {draw_random, 1}};
}

}  // namespace antichain
