#include "tests/passes/random_graph.h"

#include <algorithm>
#include <limits>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/passes/graph_drawer.h"

namespace antichain {

namespace {

constexpr int kNumRuns = 2;  // each at sizes of its own
constexpr int kNumOutputs = 6;
constexpr double kInputBound = 2;
constexpr double kStateTolerance = 1e-5;  // of states that are updated: they are f32

std::vector<DimEnv> draw_sizes(Graph& graph, std::mt19937& random) {
  std::vector<DimEnv> sizes(kNumRuns);
  const std::uint32_t n = graph.dim("n").symbol(), m = graph.dim("m").symbol();
  for (DimEnv& env : sizes) {
    env.bind(n, 2 + random() % 4);
    env.bind(m, 1 + random() % 3);
  }
  return sizes;
}

Tensor drawn_tensor(std::mt19937& random, DType dtype, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    const double unit = static_cast<double>(random() % 4096) / 2048 - 1;  // exact, within [-1, 1)
    values.push_back(dtype == boolean ? static_cast<double>(unit > 0) : kInputBound * unit);
  }
  return Tensor::of<double>(shape, values).cast(dtype);
}

struct Leaves {
  std::vector<Var> floats;  // gradients are taken with respect to these
  std::vector<std::string> states;
};

// Inputs and states of every type, at sizes that fit each other often.
Leaves add_leaves(GraphDrawer& drawer) {
  Graph& graph = drawer.graph();
  const Dim n = graph.dim("n"), m = graph.dim("m");
  Leaves leaves;
  const auto add = [&](Var var, bool exact = true) {
    drawer.keep(var, var.dtype() == boolean ? 1 : kInputBound, {}, exact);
    if (is_float(var)) {
      leaves.floats.push_back(var);
    }
  };
  add(graph.input("a", f32, {n, 3}));
  add(graph.input("b", f32, {3, m}));
  add(graph.input("c", f32, {n}));
  add(graph.input("d", drawer.chance(50) ? f64 : bf16, {n, m, 3}));
  add(graph.input("k", i64, {n}));
  add(graph.input("flags", boolean, {n, 3}));
  add(graph.input("yes", boolean, {}));
  for (const char* name : {"w", "v"}) {
    add(parameter(name, cast(iota(graph, i64, 3), f32) * 0.3), /*exact=*/false);
    leaves.states.emplace_back(name);
  }
  add(parameter("u", full(graph, f32, {3, 3}, 0.4)));
  return leaves;
}

void add_updates(GraphDrawer& drawer, const Leaves& leaves, RandomGraph& result) {
  Graph& graph = drawer.graph();
  for (const std::string& state : leaves.states) {
    if (drawer.chance(50)) {
      continue;
    }
    const auto value = drawer.pick([](const DrawnValue& other) {
      return is_float(other.var) && other.tolerance <= kStateTolerance;
    });
    const Var old = read_state(graph, state);
    const Var small = broadcast_to(cast(mean(value->var) * 0.05, f32), old.shape());
    result.updates.push_back(drawer.chance(50) ? assign(graph, state, old * 0.5 + small)
                                               : add_update(graph, state, small));
    result.outputs.push_back({read_state(graph, state), kInputBound, kStateTolerance});
  }
}

void add_gradients(GraphDrawer& drawer, const Leaves& leaves, RandomGraph& result) {
  const DrawnValue y = *drawer.pick_float();
  const Var loss = y.var.dtype() == f64 ? mean(y.var) : mean(cast(y.var, f32));
  const std::vector<Var> gradients = grad(loss, leaves.floats, {.zero_if_unused = true});
  for (Var gradient : gradients) {
    result.outputs.push_back({gradient, std::numeric_limits<double>::infinity(),
                              std::max(y.tolerance, gradient.dtype() == bf16 ? 0.1 : 1e-5)});
  }
}

}  // namespace

RandomGraph random_graph(Graph& graph, std::uint32_t seed, int num_ops) {
  std::mt19937 random(seed);
  GraphDrawer drawer(graph, seed + 1, draw_sizes(graph, random));
  const Leaves leaves = add_leaves(drawer);
  std::vector<DrawFamily> families = elementwise_draws();
  for (const std::vector<DrawFamily>& more : {array_draws(), row_draws(), region_draws()}) {
    families.insert(families.end(), more.begin(), more.end());
  }
  for (int i = 0; i < num_ops; ++i) {
    draw_op(drawer, families);
  }
  RandomGraph result;
  for (int i = 0; i < kNumOutputs; ++i) {
    result.outputs.push_back(*drawer.pick([](const DrawnValue&) { return true; }));
  }
  if (drawer.chance(60)) {
    add_gradients(drawer, leaves, result);
  }
  add_updates(drawer, leaves, result);
  for (const DimEnv& env : drawer.sizes()) {
    Feeds feeds;
    for (Op input : graph.inputs()) {
      const Var var = input.output();
      feeds[var.name()] = drawn_tensor(random, var.dtype(), evaluate(var.shape(), env));
    }
    result.feeds.push_back(std::move(feeds));
  }
  return result;
}

}  // namespace antichain
