// Random reductions, matrix products, norms and ops that move elements.
#include <algorithm>
#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "tests/passes/graph_drawer.h"

namespace antichain {

namespace {

// Large enough that a norm does not blow up what rounding did to values that hardly differ.
constexpr double kEpsilon = 0.1;

int draw_axis(GraphDrawer& drawer, Var var) {
  return static_cast<int>(drawer.below(static_cast<std::size_t>(var.rank())));
}

bool draw_reduction(GraphDrawer& drawer) {
  const auto x = drawer.pick_float(1);
  if (!x) {
    return false;
  }
  const int axis = draw_axis(drawer, x->var);
  const bool all = drawer.chance(25);
  const Ints axes = all ? Ints{} : Ints{axis};
  const double count = drawer.largest(all ? x->var.shape() : Dims{x->var.dim(axis)});
  const bool keep_dims = drawer.chance(50);
  const double bound = x->bound;
  switch (drawer.below(8)) {
    case 0:
    case 1: drawer.keep(sum(x->var, axes, keep_dims), bound * count, {*x}); break;
    case 2: drawer.keep(mean(x->var, axes, keep_dims), bound, {*x}); break;
    case 3: drawer.keep(max(x->var, axes, keep_dims), bound, {*x}, true); break;
    case 4: drawer.keep(min(x->var, axes, keep_dims), bound, {*x}, true); break;
    case 5: drawer.keep(logsumexp(x->var, axes, keep_dims), bound + std::log(count), {*x}); break;
    case 6: drawer.keep(variance(x->var, axes, keep_dims), bound * bound, {*x}); break;
    default: {
      const CumsumOptions options = {.exclusive = drawer.chance(50), .reverse = drawer.chance(50)};
      drawer.keep(cumsum(x->var, axis, options), bound * drawer.largest({x->var.dim(axis)}), {*x});
    }
  }
  return true;
}

bool draw_position(GraphDrawer& drawer) {
  const auto x = drawer.pick([](const DrawnValue& value) {
    return value.tolerance == 0 && value.var.rank() > 0 && value.var.dtype() != boolean;
  });
  if (x) {
    const int axis = draw_axis(drawer, x->var);
    drawer.keep(argmax(x->var, axis), drawer.largest({x->var.dim(axis)}), {}, true);
  }
  return x.has_value();
}

// Adds a product, or what a layer makes of it: then nobody else reads the product.
void keep_product(GraphDrawer& drawer, Var product, double bound,
                  const std::vector<DrawnValue>& from) {
  if (drawer.chance(40)) {
    drawer.keep(product, bound, from);
    return;
  }
  std::vector<DrawnValue> all = from;
  Var sum = product * 0.25;
  bound *= 0.25;
  if (const auto other = drawer.pick([&](const DrawnValue& value) {
        return value.var.dtype() == product.dtype() &&
               (value.var.shape() == product.shape() || value.var.shape() == Dims{product.dim(-1)});
      })) {
    sum = sum + other->var;
    bound += other->bound;
    all.push_back(*other);
  }
  drawer.keep(drawer.chance(50) ? relu(sum) : gelu(sum), bound, all);
}

bool draw_matmul(GraphDrawer& drawer) {
  const auto a = drawer.pick_float(2);
  if (!a) {
    return false;
  }
  const bool transpose_a = drawer.chance(30), transpose_b = drawer.chance(30);
  const Dim inner = a->var.dim(transpose_a ? -2 : -1);
  const auto b = drawer.pick([&](const DrawnValue& value) {
    return value.var.dtype() == a->var.dtype() && value.var.rank() == 2 &&
           value.var.dim(transpose_b ? -1 : -2) == inner;
  });
  if (b) {
    const MatmulOptions options = {.transpose_a = transpose_a, .transpose_b = transpose_b};
    keep_product(drawer, matmul(a->var, b->var, options),
                 a->bound * b->bound * drawer.largest({inner}), {*a, *b});
  } else {  // a value times itself always fits
    keep_product(drawer, matmul(a->var, a->var, {.transpose_b = true}),
                 a->bound * a->bound * drawer.largest({a->var.dim(-1)}), {*a});
  }
  return true;
}

bool draw_norm(GraphDrawer& drawer) {
  const auto x = drawer.pick_float(2);
  if (!x) {
    return false;
  }
  Graph& graph = drawer.graph();
  const DType dtype = x->var.dtype();
  const int axis = draw_axis(drawer, x->var);
  const double count = drawer.largest(x->var.shape());
  switch (drawer.below(5)) {
    case 0: drawer.keep(softmax(x->var, axis), 1, {*x}); break;
    case 1: drawer.keep(log_softmax(x->var, axis), 2 * x->bound + std::log(count), {*x}); break;
    case 2: {
      const Dims shape = {x->var.dim(-1)};
      drawer.keep(layer_norm(x->var, full(graph, dtype, shape, 0.7), full(graph, dtype, shape, 0.2),
                             1, kEpsilon),
                  std::sqrt(count), {*x});
      break;
    }
    case 3: {
      const Dims shape = {x->var.dim(1)};
      const BatchNorm norm = batch_norm(x->var, full(graph, dtype, shape, 0.7),
                                        full(graph, dtype, shape, 0.2), kEpsilon);
      drawer.keep(norm.output, std::sqrt(count), {*x});
      drawer.keep(norm.variance, x->bound * x->bound, {*x});
      break;
    }
    default: {
      Dims rows = x->var.shape();
      rows.pop_back();
      drawer.keep(cross_entropy(x->var, zeros(graph, i64, rows)), 2 * x->bound + std::log(count),
                  {*x});
    }
  }
  return true;
}

bool draw_reshape(GraphDrawer& drawer) {
  const auto x = drawer.pick([](const DrawnValue& value) { return value.var.rank() > 0; });
  if (!x) {
    return false;
  }
  const Var var = x->var;
  const int axis = draw_axis(drawer, var);
  Var moved;
  switch (drawer.below(7)) {
    case 0: moved = reshape(var, {-1}); break;
    case 1: moved = transpose(var); break;
    case 2: moved = swap_axes(var, 0, axis); break;
    case 3: moved = expand_dims(var, axis); break;
    case 4: moved = flip(var, {axis}); break;
    case 5: {
      Dims shape = var.shape();
      shape.insert(shape.begin(), 2);
      moved = broadcast_to(var, shape);
      break;
    }
    default: moved = reshape(reshape(var, {-1}), var.shape());
  }
  if (moved.rank() <= 4) {
    drawer.keep(moved, x->bound, {*x}, true);
  }
  return true;
}

bool draw_cut(GraphDrawer& drawer) {
  const auto x = drawer.pick([](const DrawnValue& value) { return value.var.rank() > 0; });
  if (!x) {
    return false;
  }
  const Var var = x->var;
  const int axis = draw_axis(drawer, var);
  const bool two = drawer.has_size(var, axis, 2);
  Var part;
  switch (drawer.below(4)) {
    case 0: part = index(var, axis, 0); break;
    case 1: part = slice(var, {{.axis = axis, .start = two ? 1 : 0}}); break;
    case 2: part = slice(var, {{.axis = axis, .start = 0, .step = 2}}); break;
    default: {
      const Dim size = var.dim(axis);
      if (!two) {
        return false;
      }
      const std::vector<Var> parts = split(var, {1, size - 1}, axis);
      drawer.keep(parts[0], x->bound, {*x}, true);
      part = parts[1];
    }
  }
  drawer.keep(part, x->bound, {*x}, true);
  return true;
}

bool draw_joined(GraphDrawer& drawer) {
  const auto a = drawer.pick([](const DrawnValue& value) { return value.var.rank() > 0; });
  if (!a) {
    return false;
  }
  const int axis = draw_axis(drawer, a->var);
  const auto b = drawer.pick([&](const DrawnValue& value) {
    return value.var.dtype() == a->var.dtype() && value.var.shape() == a->var.shape();
  });
  const double bound = std::max(a->bound, b->bound);
  Var joined;
  switch (drawer.below(4)) {
    case 0:
    case 1: joined = concat({a->var, b->var}, axis); break;
    case 2: joined = stack({a->var, b->var}, axis); break;
    default: {
      Dims before(static_cast<std::size_t>(a->var.rank()), 0), after = before;
      before[static_cast<std::size_t>(axis)] = 1;
      after[static_cast<std::size_t>(axis)] = 2;
      if (!is_float(a->var)) {
        return false;
      }
      joined = pad(a->var, before, after, 0.25);
    }
  }
  if (joined.rank() <= 4) {
    drawer.keep(joined, std::max(bound, 1.0), {*a, *b}, true);
  }
  return true;
}

bool draw_lookup(GraphDrawer& drawer) {
  const auto x = drawer.pick_float(1);
  const auto ids = drawer.pick(
      [](const DrawnValue& value) { return value.var.dtype() == i64 && value.var.rank() < 2; });
  if (!x || !ids) {
    return false;
  }
  const int axis = draw_axis(drawer, x->var);
  const Var inside = modulo(ids->var, dim_value(drawer.graph(), x->var.dim(axis)));
  if (drawer.chance(30)) {
    drawer.keep(one_hot(inside, 3, x->var.dtype()), 1, {}, true);
  } else if (x->var.rank() < 4) {
    drawer.keep(gather(x->var, inside, axis), x->bound, {*x}, true);
  }
  return true;
}

}  // namespace

std::vector<DrawFamily> array_draws() {
  return {{draw_reduction, 4}, {draw_position, 1}, {draw_matmul, 3}, {draw_norm, 2},
          {draw_reshape, 3},   {draw_cut, 2},      {draw_joined, 2}, {draw_lookup, 1}};
}

}  // namespace antichain
