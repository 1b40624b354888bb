// Groups of element-wise ops read what takes the fewest bytes, and compute the rest again.
#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/passes/fusion/fuse_elementwise.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::cheapest_reads_test {

constexpr std::int64_t kRows = 32, kColumns = 40;

// Two groups that cannot be one, because a product lies between.
struct TwoGroups {
  Graph graph;
  Var a = whole("a"), b = whole("b"), c = whole("c"), d = whole("d");
  Var w = graph.input("w", f32, {kColumns, kColumns}), row = graph.input("row", f32, {kColumns});

  Var whole(const char* name) { return graph.input(name, f32, {kRows, kColumns}); }
  // Reads values before the product, and again behind it.
  Var twice(const Vars& values) const {
    Var first = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) {
      first = first * values[i];
    }
    Var second = matmul(exp(first), w);
    for (Var value : values) {
      second = cos(second) * cast(value, f32);
    }
    return second;
  }
  // How many values of the shape, of any type, are written by element-wise ops for what is asked.
  std::size_t num_written(const Vars& values, const std::vector<Op>& ops = {}) {
    const GraphCopy copy = fuse_recomputing(copy_graph(graph, values, ops));
    verify(*copy.graph);
    std::size_t count = 0;
    for (Op op : schedule(*copy.graph, copy.values, copy.ops)) {
      for (Var output : op.outputs()) {
        count += (&op.def() == &fused_def() || is_elementwise(op.def())) &&
                         output.shape() == Dims{kRows, kColumns}
                     ? 1
                     : 0;
      }
    }
    return count;
  }
};

constexpr std::size_t kBoth = 2;  // what the product reads, and the result

TEST(CheapestReads, OneValueThatAnotherFollowsFromIsReadInstead) {
  TwoGroups two;
  EXPECT_EQ(two.num_written({two.twice({sin(two.a)})}), kBoth);
  EXPECT_EQ(two.num_written({two.twice({sin(two.a * two.row + 1)})}), kBoth);
  EXPECT_EQ(two.num_written({two.twice({sin(two.a), cos(two.a), two.a + 2})}), kBoth);
  // Two are read for two, of which neither is written.
  EXPECT_EQ(two.num_written({two.twice({two.a + two.b, two.a - two.b})}), kBoth);
}

TEST(CheapestReads, ValuesThatFollowFromMoreAreKept) {
  TwoGroups two;
  EXPECT_EQ(two.num_written({two.twice({two.a + two.b})}), kBoth + 1);
  EXPECT_EQ(two.num_written({two.twice({(two.a + two.b) * (two.c - two.d)})}), kBoth + 1);
  // What lies between may be the cheapest: one number instead of two.
  EXPECT_EQ(two.num_written({two.twice({sin(two.a + two.b), cos(two.a + two.b)})}), kBoth + 1);
}

TEST(CheapestReads, WhatIsWrittenInAnyCaseIsRead) {
  TwoGroups two;
  const Var wave = sin(two.a);
  const GraphCopy copy = apply_pass(fuse_recomputing, two.graph, {two.twice({wave}), wave});
  for (Op op : schedule(*copy.graph, {{copy.values[0]}})) {
    const AttrValue* label = op.attrs().find("label");
    if (label && std::get<std::string>(*label).find("cos") != std::string::npos) {
      EXPECT_EQ(std::get<std::string>(*label).find("sin"), std::string::npos);
    }
  }
  EXPECT_EQ(two.num_written({two.twice({wave}), wave}), kBoth + 1);
}

TEST(CheapestReads, NarrowValuesAreKept) {
  TwoGroups two;
  const Var mask = greater(two.a, two.b * 2);
  const Var first = matmul(select(mask, two.a, two.b), two.w);
  EXPECT_EQ(two.num_written({select(mask, exp(first), two.c)}), kBoth + 1);
}

// A product goes on in what follows it, and would have to be written for a second reader.
TEST(CheapestReads, ProductsStayWithWhatFollowsThem) {
  TwoGroups two;
  const Var product = matmul(two.a, two.w);
  EXPECT_EQ(two.num_written({two.twice({product + two.row})}), kBoth + 1);
  EXPECT_EQ(two.num_written({two.twice({product + two.row}), product}), kBoth);
}

TEST(CheapestReads, NoMoreMemoryIsNeeded) {
  TwoGroups two;
  const Vars values = {two.a * two.b, two.b * two.c};  // of three that nobody reads any more
  EXPECT_EQ(two.num_written({two.twice(values)}), kBoth + 2);
  const Var later = matmul(two.twice(values), two.w) + two.a;
  EXPECT_EQ(two.num_written({later}), kBoth + 1);
}

// The memory of a state is there for its next value.
TEST(CheapestReads, StatesAreNotReadForLonger) {
  TwoGroups two;
  two.graph.add_state({"s", {f32, {kRows, kColumns}}, {}, false});
  const Var state = read_state(two.graph, "s");
  const Var second = two.twice({sin(state)});
  const Op write = assign(two.graph, "s", two.d).producer();
  EXPECT_EQ(two.num_written({second}, {write}), kBoth + 1);
}

TEST(CheapestReads, ReductionsByThemselvesReadWhatThereIs) {
  TwoGroups two;
  const Var wave = sin(two.a);
  const Var first = matmul(exp(wave), two.w);
  EXPECT_EQ(two.num_written({first, sum(wave, {0})}), kBoth);
}

TEST(CheapestReads, GradientsOfGatesHaveTheSameBits) {
  for (const bool lstm : {false, true}) {
    std::vector<std::vector<Tensor>> found;
    for (const bool recompute : {false, true}) {
      Session session({.seed = 5, .engines = {"scan:when=always"}});
      Graph graph = session.graph();
      const Var xs = graph.input("xs", f32, {9, "batch", 3});
      const nn::RecurrentOptions options{.name = "r", .engine = "scan"};
      const Var all = lstm ? nn::lstm(xs, 4, options).all : nn::gru(xs, 4, options).all;
      const Executable run =
          session.compile(grad(sum(square(all)),
                               {graph.current_read("r.weight_hh"), graph.current_read("r.bias_hh"),
                                graph.current_read("r.weight_ih"), xs}),
                          {.compiler = {.recompute = recompute}});
      found.push_back(run({{"xs", wave({9, 2, 3})}}).tensors());
    }
    for (std::size_t i = 0; i < found[0].size(); ++i) {
      EXPECT_TRUE(bit_equal(found[0][i], found[1][i])) << i;
    }
  }
}

}  // namespace antichain::cheapest_reads_test
