// Sums over the same rows are computed together: which they are, that values stay, and that nothing
// waits for itself.
#include "antichain/passes/sums/join_sums.h"

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/row_products.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::join_sums_test {

constexpr std::int64_t kRows = 4100;

// Matrices of one height, by name.
class Matrices {
 public:
  explicit Matrices(Graph& graph, DimSpec rows = kRows, DType dtype = f32)
      : graph_(graph), rows_(rows), dtype_(dtype) {}
  Var operator()(const std::string& name, std::int64_t columns) const {
    return graph_.input(name, dtype_, {rows_, columns});
  }

 private:
  Graph& graph_;
  DimSpec rows_;
  DType dtype_;
};

using Build = std::function<Vars(const Matrices& matrix)>;

Var product(Var a, Var b) { return matmul(a, b, {.transpose_a = true}); }

GraphCopy joined(const Build& build, DimSpec rows = kRows, DType dtype = f32) {
  Graph graph;
  return apply_pass(join_sums, graph, build(Matrices(graph, rows, dtype)));
}

std::vector<Op> joint_ops(const GraphCopy& copy) {
  std::vector<Op> found;
  for (Op op : schedule(*copy.graph, copy.values, copy.ops)) {
    if (&op.def() == &row_products_def()) {
      found.push_back(op);
    }
  }
  return found;
}

// How many sums of their own are left.
std::size_t num_apart(const GraphCopy& copy) {
  return count_needed(copy, "matmul") + count_needed(copy, "sum_to") + count_needed(copy, "sum");
}

const Build kLayer = [](const Matrices& matrix) -> Vars {
  const Var u = exp(matrix("u", 20)), h = matrix("h", 20), x = matrix("x", 3);
  return {product(u, h), product(u, x), sum(u, {0})};
};

TEST(JoinSums, ProductsAndSumsThatShareAMatrix) {
  for (const DimSpec& rows : {DimSpec(kRows), DimSpec("rows")}) {
    const GraphCopy copy = joined(kLayer, rows);
    ASSERT_EQ(joint_ops(copy).size(), 1U);
    const Op op = joint_ops(copy)[0];
    EXPECT_EQ(op.num_inputs(), 3);
    EXPECT_EQ(op.attrs().get<std::int64_t>("lefts"), 1);
    EXPECT_TRUE(op.attrs().get<bool>("ones"));
    EXPECT_EQ(op.output().shape(), (Dims{20, 24}));
    EXPECT_EQ(num_apart(copy), 0U);
  }
}

// What is a multiple of 4 stands first, so that the others are not in its way.
TEST(JoinSums, WideCopiesFirst) {
  const GraphCopy copy = joined([](const Matrices& matrix) -> Vars {
    const Var u = matrix("u", 20), x = matrix("x", 3), h = matrix("h", 20);
    return {product(u, x), product(u, h)};
  });
  ASSERT_EQ(joint_ops(copy).size(), 1U);
  EXPECT_EQ(joint_ops(copy)[0].input(1).name(), "h");
}

TEST(JoinSums, WhateverTheShapeOfTheRows) {
  const GraphCopy copy = joined([](const Matrices& matrix) -> Vars {
    const Var u = exp(matrix("u", 4)), h = matrix("h", 5);
    const Var steps = reshape(u, {41, 100, 4});
    return {product(u, h), sum_to(steps, {4}), sum(steps, {0, 1}), sum_to(u, {1, 4})};
  });
  ASSERT_EQ(joint_ops(copy).size(), 1U);
  EXPECT_EQ(joint_ops(copy)[0].output().shape(), (Dims{4, 6}));  // one column for all sums
  EXPECT_EQ(num_apart(copy), 0U);
}

TEST(JoinSums, RolesAreSwapped) {
  const Build build = [](const Matrices& matrix) -> Vars {
    const Var u = matrix("u", 4), v = matrix("v", 8), h = matrix("h", 5);
    return {product(h, u), product(v, h), sum(u, {0})};
  };
  const GraphCopy copy = joined(build);
  ASSERT_EQ(joint_ops(copy).size(), 1U);
  EXPECT_EQ(joint_ops(copy)[0].output().shape(), (Dims{12, 6}));
  EXPECT_EQ(num_apart(copy), 0U);
}

TEST(JoinSums, OthersStay) {
  const auto stays = [](const Build& build, DimSpec rows = kRows, DType dtype = f32) {
    return joint_ops(joined(build, rows, dtype)).empty();
  };
  EXPECT_TRUE(stays(kLayer, 4000));
  EXPECT_TRUE(stays(kLayer, kRows, f64));
  EXPECT_TRUE(stays([](const Matrices& matrix) -> Vars {  // nothing is shared
    return {product(matrix("a", 4), matrix("b", 4)), product(matrix("c", 4), matrix("d", 4)),
            sum(matrix("e", 4), {0})};
  }));
  EXPECT_TRUE(stays([](const Matrices& matrix) -> Vars {  // no product
    const Var a = matrix("a", 4);
    return {sum(a, {0}), sum(a, {0}, true)};
  }));
  EXPECT_TRUE(stays([](const Matrices& matrix) -> Vars {  // more than kernels take
    const Var u = matrix("u", 60);
    return {product(u, matrix("a", 60)), product(u, matrix("b", 60))};
  }));
  EXPECT_TRUE(stays([](const Matrices& matrix) -> Vars {  // of itself, and along columns
    const Var u = matrix("u", 4);
    return {product(u, u), matmul(u, reshape(matrix("w", 4), {4, kRows})), sum(u, {1})};
  }));
  EXPECT_TRUE(stays([](const Matrices& matrix) -> Vars {  // a sum, of fewer rows
    const Var u = matrix("u", 4);
    return {product(u, matrix("h", 4)), sum(reshape(u, {kRows / 2, 8}), {0})};
  }));
}

// Of a chain of products, a with b, b with c, c with d, ..., every pair is computed, and few are
// wanted.
TEST(JoinSums, TooManyPairsFallApart) {
  const GraphCopy copy = joined([](const Matrices& matrix) -> Vars {
    Vars products;
    Var last = matrix("m", 4);
    for (int i = 0; i < 14; ++i) {
      const Var next = matrix("m" + std::to_string(i), 4);
      products.push_back(product(last, next));
      last = next;
    }
    return products;
  });
  EXPECT_EQ(joint_ops(copy).size(), 2U);
  EXPECT_EQ(num_apart(copy), 0U);
}

// A matrix that is computed from a sum cannot be read together with it; its reader may be.
TEST(JoinSums, NothingWaitsForItself) {
  const GraphCopy copy = joined([](const Matrices& matrix) -> Vars {
    const Var u = matrix("u", 4), h = matrix("h", 8);
    const Var first = product(u, h);
    const Var later = exp(matmul(h, first, {.transpose_b = true}));
    return {product(u, later), sum(later, {0})};
  });
  ASSERT_EQ(joint_ops(copy).size(), 1U);
  EXPECT_EQ(count_needed(copy, "matmul"), 2U);
  EXPECT_EQ(joint_ops(copy)[0].output().shape(), (Dims{4, 5}));
}

// Each of two joint sums would have to wait for the other one.
TEST(JoinSums, NorForAnotherThatWaitsForIt) {
  const GraphCopy copy = joined([](const Matrices& matrix) -> Vars {
    const Var u = matrix("u", 4), v = matrix("v", 4), h = matrix("h", 4), k = matrix("k", 4);
    const Var a = product(u, h), b = product(v, k);
    return {product(u, exp(matmul(h, b))), product(v, exp(matmul(k, a)))};
  });
  EXPECT_EQ(joint_ops(copy).size(), 1U);
  EXPECT_EQ(count_needed(copy, "matmul"), 4U);
}

// Readers of a sum wait for the matrices of the others, and nothing else does.
TEST(JoinSums, ReadersAreLater) {
  const GraphCopy copy = joined([](const Matrices& matrix) -> Vars {
    const Var u = matrix("u", 4), h = matrix("h", 8);
    const Var early = exp(product(u, h)) + 1;
    const Var later = exp(matrix("later", 4));
    return {early, product(u, later)};
  });
  EXPECT_EQ(joint_ops(copy).size(), 1U);
}

TEST(JoinSums, EffectsAreNotDelayed) {
  const auto num_joint = [](bool writes_early) {
    Graph graph;
    const Matrices matrix(graph);
    const Var u = matrix("u", 4), h = matrix("h", 8), x = matrix("x", 8);
    parameter("s", zeros(graph, f32, {4, 8}));
    const Var sum = product(u, h);
    const Var written = writes_early ? assign(graph, "s", sum) : Var();
    const Var other = product(u, exp(x));
    const Op write = (writes_early ? written : assign(graph, "s", sum)).producer();
    return joint_ops(join_sums(copy_graph(graph, Vars{other}, std::vector<Op>{write}))).size();
  };
  EXPECT_EQ(num_joint(false), 1U);
  EXPECT_EQ(num_joint(true), 0U);
}

TEST(JoinSums, ValuesStay) {
  const Build many = [](const Matrices& matrix) -> Vars {
    const Var u = exp(matrix("u", 4)), v = matrix("v", 3), w = matrix("w", 5), h = matrix("h", 8),
              x = sin(matrix("x", 1));
    return {product(u, h),
            product(h, v),
            product(u, x) * 2,
            product(w, x),
            product(h, w),
            sum(u, {0}),
            sum(v, {0}, true),
            sum_to(u, {4}),
            exp(sum_to(reshape(w, {w.dim(0), 1, 5}), {1, 1, 5}) * 1e-3)};
  };
  for (const Build& build : {kLayer, many}) {
    expect_equal_values(
        "join-sums", [&](Graph& graph) { return build(Matrices(graph)); }, 0);
    for (const std::int64_t rows : {0, 1, 7}) {
      expect_equal_values(
          "join-sums", [&](Graph& graph) { return build(Matrices(graph, "rows")); }, rows);
    }
  }
}

// The gradients of recurrent layers end with one op each.
TEST(JoinSums, GradientsOfRecurrentLayers) {
  const auto gradients = [](Graph& graph, bool gru) {
    const Var xs = graph.input("xs", f32, {"steps", "batch", 1});
    const std::string name = gru ? "gru" : "rnn";
    const Var last =
        gru ? nn::gru(xs, 20, {.engine = "scan"}).last : nn::rnn(xs, 20, {.engine = "scan"}).last;
    return grad(sum(square(last)),
                {graph.current_read(name + ".weight_hh"), graph.current_read(name + ".weight_ih"),
                 graph.current_read(name + ".bias_hh"), graph.current_read(name + ".bias_ih")});
  };
  for (const bool gru : {false, true}) {
    SCOPED_TRACE(gru);
    const SessionOptions options{.engines = {"scan:when=always"}};
    Session session(options);
    Graph graph = session.graph();
    const GraphCopy copy = run_passes(graph, gradients(graph, gru), {}, {.split_chains = true});
    ASSERT_EQ(joint_ops(copy).size(), 1U);
    EXPECT_EQ(joint_ops(copy)[0].output().shape(), (Dims{gru ? 80 : 20, 22}));
    EXPECT_EQ(count_needed(copy, "sum_to"), 0U);
    expect_equal_values(
        "join-sums", [&](Graph& other) { return gradients(other, gru); }, 5, options);
  }
}

}  // namespace antichain::join_sums_test
