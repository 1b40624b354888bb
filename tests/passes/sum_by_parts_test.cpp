// Sums over many rows of a concatenation are sums of its parts; other readers keep it whole.
#include "antichain/passes/sums/sum_by_parts.h"

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::sum_by_parts_test {

using Build = std::function<Vars(Graph& graph, Var whole)>;

struct Sizes {
  DimSpec steps = 4100, batch = 2;
  std::int64_t last = 5;  // columns of the last part
};

// What a function makes of [steps, batch, 3 + 1 + last] in three parts.
Vars on_parts(Graph& graph, const Build& build, const Sizes& sizes = {}) {
  const Var a = graph.input("a", f32, {sizes.steps, sizes.batch, 3});
  const Var b = graph.input("b", f32, {a.dim(0), a.dim(1), 1});
  const Var c = graph.input("c", f32, {a.dim(0), a.dim(1), sizes.last});
  return build(graph, concat({exp(a), b, c}, -1));
}

// How wide the widest concatenation is that is left.
std::int64_t widest_concat(const GraphCopy& copy) {
  std::int64_t widest = 0;
  for (Op op : schedule(*copy.graph, copy.values)) {
    if (&op.def() == &concat_def()) {
      const Dim count = numel(op.output().shape());
      widest = std::max(widest, count.is_constant() ? count.constant() : 1 << 30);
    }
  }
  return widest;
}

bool is_whole_gone(const Build& build, const Sizes& sizes = {}) {
  Graph graph;
  return widest_concat(apply_pass(sum_by_parts, graph, on_parts(graph, build, sizes))) < 4096;
}

Var rows_of(Var whole) { return reshape(whole, {whole.dim(0) * whole.dim(1), whole.dim(2)}); }
Var factor(Graph& graph, Var rows, std::int64_t columns = 4) {
  return graph.input("factor", f32, {rows.dim(0), columns});
}

const Build kProducts = [](Graph& graph, Var whole) -> Vars {
  const Var rows = rows_of(whole), x = factor(graph, rows);
  return {matmul(rows, x, {.transpose_a = true}), matmul(x, rows, {.transpose_a = true}),
          matmul(x, rows, {.transpose_a = true}) * 2};
};
const Build kSums = [](Graph&, Var whole) -> Vars {
  const Var rows = rows_of(whole);
  return {sum_to(whole, {whole.dim(2)}), sum_to(whole, {1, 1, whole.dim(2)}), sum(whole, {0, 1}),
          sum(whole, {-2, 0}, true), sum(rows, {0})};
};

TEST(SumByParts, SumsAndProductsOfManyRows) {
  for (const Build& build : {kProducts, kSums}) {
    EXPECT_TRUE(is_whole_gone(build));
    EXPECT_TRUE(is_whole_gone(build, {.steps = "steps", .batch = "batch"}));
    EXPECT_TRUE(is_whole_gone(build, {.steps = "steps", .batch = 1}));
  }
}

TEST(SumByParts, FewRowsOrManyColumnsStay) {
  for (const Build& build : {kProducts, kSums}) {
    Graph graph;
    const Vars few = on_parts(graph, build, {.steps = 40, .batch = 2});
    EXPECT_EQ(widest_concat(apply_pass(sum_by_parts, graph, few)), 40 * 2 * 9);
    EXPECT_FALSE(is_whole_gone(build, {.last = 300}));
  }
  EXPECT_FALSE(is_whole_gone([](Graph& graph, Var whole) -> Vars {
    const Var rows = rows_of(whole);
    return {matmul(rows, factor(graph, rows, 1000), {.transpose_a = true})};
  }));
}

TEST(SumByParts, OtherReadersKeepTheWhole) {
  const auto with = [](const std::function<Var(Graph&, Var)>& other) -> Build {
    return [other](Graph& graph, Var whole) -> Vars {
      return {sum(whole, {0, 1}), other(graph, whole)};
    };
  };
  EXPECT_TRUE(is_whole_gone(with([](Graph&, Var whole) { return sum(whole, {0, 1}) * 2; })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) { return whole; })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) { return rows_of(whole); })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) { return exp(whole); })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) { return sum(whole, {2}); })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) { return sum(whole); })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) { return sum(whole, {0}); })));
  EXPECT_FALSE(is_whole_gone(  // as many results as columns, but not theirs
      with([](Graph&, Var whole) {
        return sum(whole, {1, 2});
      }),
      {.steps = 9, .batch = 1000}));
  EXPECT_FALSE(is_whole_gone(with([](Graph& graph, Var whole) {  // along the columns
    return matmul(rows_of(whole), graph.input("w", f32, {9, 2}));
  })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) {
    return matmul(rows_of(whole), rows_of(whole), {.transpose_a = true});
  })));
  EXPECT_FALSE(is_whole_gone(with([](Graph&, Var whole) {
    return sum(reshape(whole, {whole.dim(0), whole.dim(1) * whole.dim(2)}), {0});
  })));
}

// Both may be taken apart one by one, but a product is of one of them.
TEST(SumByParts, ProductsOfTwoConcatenations) {
  Graph graph;
  const Vars values = on_parts(graph, [](Graph&, Var whole) -> Vars {
    const Var other = concat({whole, whole}, -1);
    return {matmul(rows_of(whole * 2), rows_of(other), {.transpose_a = true})};
  });
  const GraphCopy copy = apply_pass(sum_by_parts, graph, values);
  EXPECT_EQ(count_needed(copy, "matmul"), 1U);
}

TEST(SumByParts, ValuesStay) {
  for (const Build& build : {kSums, kProducts}) {
    expect_equal_values(
        "sum-by-parts", [&](Graph& graph) { return on_parts(graph, build); }, 0);
  }
  for (const std::int64_t steps : {0, 1, 7}) {
    expect_equal_values(
        "sum-by-parts",
        [&](Graph& graph) { return on_parts(graph, kSums, {.steps = "steps", .batch = "batch"}); },
        steps);
  }
}

TEST(SumByParts, GradientsOfGates) {
  const auto build = [](Graph& graph) -> Vars {
    const Var xs = graph.input("xs", f32, {"steps", "batch", 3});
    const Var loss = sum(square(nn::gru(xs, 4, {.engine = "scan"}).last));
    return grad(loss, {graph.current_read("gru.weight_hh"), graph.current_read("gru.weight_ih"),
                       graph.current_read("gru.bias_hh")});
  };
  Session session({.engines = {"scan:when=always"}});
  Graph graph = session.graph();
  const Vars values = build(graph);
  const auto widest = [&](const CompilerOptions& options) {
    return widest_concat(run_passes(graph, values, {}, options));
  };
  EXPECT_GT(widest({.disabled = {"sum-by-parts"}, .split_chains = true}), 1000);
  EXPECT_EQ(widest({.split_chains = true}), 12 * 4);
  expect_equal_values("sum-by-parts", build, 5);
}

}  // namespace antichain::sum_by_parts_test
