// Random bodies: chains, conds and calls.
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/passes/graph_drawer.h"

namespace antichain {

namespace {

// Draws a few ops in the body that is open and makes them bear on `value`, whose type stays.
Var drawn_step(GraphDrawer& drawer, Var value, double& tolerance) {
  const std::size_t count = 1 + drawer.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    draw_op(drawer, elementwise_draws());
  }
  const DrawnValue last = *drawer.pick_float();
  tolerance = std::max(tolerance, last.tolerance);
  return tanh(value * 0.5 + cast(mean(last.var), value.dtype()));
}

bool draw_chain(GraphDrawer& drawer) {
  const auto xs = drawer.pick_float(1);
  const auto state = drawer.pick_float();
  if (!xs || !state || state->var.rank() > 2) {
    return false;
  }
  double tolerance = std::max(xs->tolerance, state->tolerance);
  const double bound = std::max(1.0, state->bound);
  const Chain result =
      chain(state->var, xs->var,
            [&](Var h, Var x) {
              const GraphDrawer::Body body(
                  drawer, {{h, bound, 1}, {x, xs->bound, xs->tolerance}});  // 1: no comparison of h
              return drawn_step(drawer, h, tolerance);
            },
            {.reverse = drawer.chance(30)});
  const DrawnValue source = {state->var, bound, std::min(tolerance, 0.1)};
  drawer.keep(result.last, bound, {source});
  if (result.all.rank() <= 3) {
    drawer.keep(result.all, bound, {source});
  }
  return true;
}

bool draw_cond(GraphDrawer& drawer) {
  const auto yes = drawer.pick([](const DrawnValue& value) {
    return value.var.dtype() == boolean && value.var.rank() == 0 && value.tolerance == 0;
  });
  const auto value = drawer.pick_float();
  if (!yes || !value) {
    return false;
  }
  double tolerance = value->tolerance;
  const auto branch = [&] {
    const GraphDrawer::Body body(drawer, {*value});
    return Vars{drawn_step(drawer, drawer.graph().capture(value->var), tolerance)};
  };
  const Vars chosen = cond(yes->var, branch, branch);
  drawer.keep(chosen[0], 1, {{value->var, 1, tolerance}});
  return true;
}

bool draw_call(GraphDrawer& drawer) {
  const auto value = drawer.pick_float();
  if (!value) {
    return false;
  }
  double tolerance = value->tolerance;
  const Vars result = call(drawer.graph(), [&] {
    const GraphDrawer::Body body(drawer, {*value});
    const Var inside = drawer.graph().capture(value->var);
    return Vars{drawn_step(drawer, inside, tolerance), sin(inside)};
  });
  drawer.keep(result[0], 1, {{value->var, 1, tolerance}});
  drawer.keep(result[1], 1, {*value});
  return true;
}

}  // namespace

std::vector<DrawFamily> region_draws() { return {{draw_chain, 1}, {draw_cond, 1}, {draw_call, 1}}; }

}  // namespace antichain
