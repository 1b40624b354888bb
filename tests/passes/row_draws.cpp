// Random reductions over the last axes whose results are broadcast back, as norms do that are
// written by hand.
#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "tests/passes/graph_drawer.h"

namespace antichain {

namespace {

struct Statistic {
  Var (*apply)(const Operand& x, const Ints& axes, bool keep_dims);
  bool exact = false;
};

// Drops the axes that are reduced and brings them back, or keeps them.
Var reduce_rows(GraphDrawer& drawer, const Statistic& statistic, Var x, const Ints& axes) {
  if (drawer.chance(60)) {
    return statistic.apply(x, axes, true);
  }
  Var result = statistic.apply(x, axes, false);
  if (drawer.chance(50)) {
    result = result * 0.5;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result = expand_dims(result, -1);
  }
  return result;
}

bool draw_rows(GraphDrawer& drawer) {
  static const std::vector<Statistic> kAll = {{mean}, {max, true}, {min, true}};
  const auto x = drawer.pick_float(1);
  if (!x) {
    return false;
  }
  const Var var = x->var;
  const Ints axes = var.rank() > 1 && drawer.chance(30) ? Ints{var.rank() - 2, var.rank() - 1}
                                                        : Ints{var.rank() - 1};
  Dims row;
  for (const std::int64_t axis : axes) {
    row.push_back(var.dim(static_cast<int>(axis)));
  }
  switch (drawer.below(4)) {
    case 0: {
      const Statistic& statistic = drawer.one_of(kAll);
      drawer.keep(var - reduce_rows(drawer, statistic, var, axes), 2 * x->bound, {*x});
      break;
    }
    case 1: {
      const Var e = exp(var - reduce_rows(drawer, {max, true}, var, axes));
      // The maximum may have been halved.
      const Var total = sum(e, axes, true) + 1;
      drawer.keep(e / total, 1, {*x});
      drawer.keep(log(total), x->bound + std::log(drawer.largest(row) + 1) + 1, {*x});
      break;
    }
    case 2: {
      const Var scale = rsqrt(reduce_rows(drawer, {mean}, square(var), axes) + 0.5);
      drawer.keep(var * scale, 2 * x->bound, {*x});
      break;
    }
    default: drawer.keep(sum(tanh(var), axes), drawer.largest(row), {*x});
  }
  return true;
}

}  // namespace

std::vector<DrawFamily> row_draws() { return {{draw_rows, 3}}; }

}  // namespace antichain
