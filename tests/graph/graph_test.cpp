#include "antichain/graph/graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/tensor/expect_error.h"

namespace antichain::graph_test {

class GraphTest : public testing::Test {
 protected:
  static std::string at(unsigned line) { return fmt::format(" (at graph_test.cpp:{})", line); }

  Graph graph;
  Var x = graph.input("x", DType::f32, {"n", 3});
  Var w = graph.input("w", DType::f32, {3, 5});
};

TEST_F(GraphTest, EqualApplicationsAreOneOp) {
  const Var first = matmul(x, w), size = dim_value(graph, x.dim(0));
  const std::size_t count = graph.num_ops();
  EXPECT_EQ(matmul(x, w), first);
  EXPECT_EQ(dim_value(graph, graph.dim("n")), size);
  EXPECT_EQ(graph.num_ops(), count);
  EXPECT_FALSE(matmul(w, w, {.transpose_a = true}) == matmul(w, w, {.transpose_b = true}));
  EXPECT_FALSE(x - x == x + x);
}

TEST_F(GraphTest, NumbersAreSharedByBits) {
  EXPECT_EQ(x * 2, x * 2.0F);
  EXPECT_FALSE(x * 0.0 == x * -0.0);
  EXPECT_FALSE(clip(x, 0.0, 1) == clip(x, -0.0, 1));
  const double nan = std::nan("");
  EXPECT_EQ(x * nan, x * nan);
}

TEST_F(GraphTest, EffectsAndRegionsAreNotShared) {
  const Var zero = zeros(graph, DType::f32, {2});
  buffer("count", zero);
  EXPECT_FALSE(add_update(graph, "count", zero) == add_update(graph, "count", zero));
  const auto body = [&] { return Vars{exp(x)}; };
  EXPECT_FALSE(call(graph, body)[0] == call(graph, body)[0]);
  EXPECT_FALSE(random_normal(graph, DType::f32, {2}) == random_normal(graph, DType::f32, {2}));
}

TEST_F(GraphTest, OpsOfDifferentRegionsAreNotShared) {
  const Var outside = exp(x);
  const Var inside = call(graph, [&] {
    const Var y = exp(x);
    EXPECT_FALSE(y == outside);
    EXPECT_EQ(y, exp(x));
    return Vars{y};
  })[0];
  EXPECT_FALSE(inside == outside);
  EXPECT_EQ(exp(x), outside);
}

TEST_F(GraphTest, Inputs) {
  EXPECT_EQ(graph.inputs().size(), 2U);
  EXPECT_EQ(x.name(), "x");
  EXPECT_EQ(to_string(x.shape()), "[n, 3]");
  EXPECT_EQ(x.dim(0), graph.dim("n"));
  EXPECT_EQ(x.dim(-1), Dim(3));
  EXPECT_EQ(x.rank(), 2);
  const Var mixed = graph.input("mixed", DType::i32,
                                {graph.dim("n") * 2, std::int64_t{4}, std::string("channels")});
  EXPECT_EQ(to_string(mixed.shape()), "[2*n, 4, channels]");
  expect_error<InvalidArgument>("there is already an input called 'x'",
                                [&] { graph.input("x", DType::f32, {}); });
  expect_error<InvalidArgument>("an input must have a name",
                                [&] { graph.input("", DType::f32, {}); });
  expect_error<ShapeError>("a dim must have a name", [&] { graph.input("y", DType::f32, {""}); });
  const auto line = __LINE__ + 1;
  const auto negative = [&] { graph.input("y", DType::f32, {-2}); };
  expect_error<ShapeError>("input: size -2 is negative" + at(line), negative);
}

TEST_F(GraphTest, NamesAndScopes) {
  const Var y = exp(x);
  EXPECT_EQ(y.name(), fmt::format("%{}", y.id().value));
  graph.set_name(y, "activation");
  EXPECT_EQ(y.name(), "activation");
  EXPECT_EQ(Var().name(), "(none)");
  const ScopeGuard outer(graph, "model");
  {
    const ScopeGuard inner(graph, "encoder");
    EXPECT_EQ(graph.qualify("weight"), "model.encoder.weight");
    EXPECT_EQ(sin(x).producer().scope(), "model.encoder");
  }
  EXPECT_EQ(graph.qualify("weight"), "model.weight");
  const auto line = __LINE__ + 1;
  const Var z = cos(x);
  graph.set_name(z, "z");
  EXPECT_EQ(z.producer().describe(), fmt::format("cos z in 'model' (graph_test.cpp:{})", line));
  EXPECT_EQ(parameter("w", zeros(graph, DType::f32, {2})).name(), "model.w");
  const auto bad = __LINE__ + 1;
  const auto build = [&] { x + w; };
  expect_error<ShapeError>(
      fmt::format("add: shapes [n, 3] and [3, 5] do not broadcast (at graph_test.cpp:{}, in "
                  "'model')",
                  bad),
      build);
}

// Every way to write an op must lead back to the line where it was written.
TEST_F(GraphTest, ErrorsNameThePlaceInTheUsersCode) {
  const auto here = __LINE__;
  const auto by_operator = [&] { x + w; };
  const auto by_function = [&] { add(x, w); };
  const auto fluent = [&] { x.sum(2); };
  const auto reshaped = [&] { w.reshape({7, 2}); };
  const auto in_body = [&] { call(graph, [&] { return Vars{x * w}; }); };
  const std::string no_match = "shapes [n, 3] and [3, 5] do not broadcast";
  expect_error<ShapeError>("add: " + no_match + at(here + 1), by_operator);
  expect_error<ShapeError>("add: " + no_match + at(here + 2), by_function);
  expect_error<ShapeError>("sum: axis 2 is outside a value of rank 2" + at(here + 3), fluent);
  expect_error<ShapeError>("reshape: 15 elements in [3, 5] do not fit [7, 2]" + at(here + 4),
                           reshaped);
  expect_error<ShapeError>("multiply: " + no_match + at(here + 5), in_body);
  EXPECT_EQ(graph.current_region(), kRootRegion) << "the body was left by an exception";
}

TEST_F(GraphTest, OpsKnowThePlaceInTheUsersCode) {
  const auto line_of = [](Var var) { return var.producer().location().line(); };
  const auto here = __LINE__;
  const Var a = x + x;
  const Var b = 1 - x;
  const Var c = x.reshape({-1});
  const Var d = -x;
  const Var e = x.sum(0);
  const Var f = zeros(graph, DType::f32, {7});
  const Var g = x.transpose();
  const Var h = concat({x, x}, 0);
  const Var i = x * 2.0;
  const Var j = x.max({1}, true);
  const Var k = x.shape_of();
  const Var l = x.cast(DType::f64);
  const Vars all = {a, b, c, d, e, f, g, h, i, j, k, l};
  for (std::size_t n = 0; n < all.size(); ++n) {
    EXPECT_EQ(line_of(all[n]), static_cast<unsigned>(here) + 1 + n) << all[n].producer().def().name;
    EXPECT_NE(std::string(all[n].producer().location().file_name()).find("graph_test.cpp"),
              std::string::npos);
  }
  EXPECT_EQ(line_of(i.producer().input(1)), line_of(i)) << "the constant of a plain number";
}

TEST_F(GraphTest, ChainAndCondKnowTheirPlace) {
  const auto here = __LINE__;
  const Var a = chain(x, w, [](Var s, Var) { return s; }).last;
  const Var b = cond(
      less(sum(x), 0), [&] { return Vars{x}; }, [&] { return Vars{x}; })[0];
  EXPECT_EQ(a.producer().location().line(), static_cast<unsigned>(here) + 1);
  EXPECT_EQ(b.producer().location().line(), static_cast<unsigned>(here) + 2);
}

TEST_F(GraphTest, ValuesOfOtherGraphsAreRejected) {
  Graph other;
  const Var stranger = other.input("x", DType::f32, {3, 5});
  expect_error<InvalidArgument>("add: input 1 belongs to another graph", [&] { w + stranger; });
  expect_error<InvalidArgument>("add: input 0 belongs to another graph", [&] {
    graph.add(add_def(), {stranger, stranger});
  });
}

TEST_F(GraphTest, ValuesThatAreNone) {
  expect_error<InvalidArgument>("add: input 1 is not a value", [&] { x + Var(); });
  expect_error<InvalidArgument>("add: at least one operand must be a value of a graph",
                                [&] { Var() + x; });
  expect_error<InvalidArgument>("this is not a value of a graph", [] { Var().shape(); });
  expect_error<InvalidArgument>("this is not a value of a graph", [] { Var().graph(); });
  expect_error<InvalidArgument>("this is not a value of a graph", [] { zeros_like(Var()); });
  expect_error<InvalidArgument>("this is not a value of a graph",
                                [] { chain(Var(), Var(), [](Var s, Var) { return s; }); });
  expect_error<InvalidArgument>("this is not a value of a graph", [] {
    cond(
        Var(), [] { return Vars{}; }, [] { return Vars{}; });
  });
  expect_error<InvalidArgument>("constant: the tensor is empty" + at(__LINE__ + 1),
                                [&] { constant(graph, Tensor()); });
}

constexpr const char* kGone =
    "this value is of a graph that is gone; keep the Graph for as long as its values";

TEST(GraphLifetime, AValueSaysThatItsGraphIsGone) {
  Var orphan;
  {
    Graph gone;
    orphan = gone.input("x", DType::f32, {"n", 3});
  }
  EXPECT_TRUE(orphan.valid());
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.graph()); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.shape()); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.dim(0)); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.name()); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.has_name()); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.producer()); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.value()); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan + 1); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(orphan.sum()); });
}

// A graph where the other one was: the address says nothing.
TEST(GraphLifetime, AValueIsOfNoLaterGraph) {
  std::optional<Graph> graph(std::in_place);
  const Var before = graph->input("x", DType::f32, {2});
  graph.emplace();
  const Var now = graph->input("x", DType::f32, {2});
  EXPECT_EQ(before.id(), now.id());
  EXPECT_FALSE(before == now);
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(before + now); });
  expect_error<InvalidArgument>(kGone, [&] { static_cast<void>(now + before); });
}

// More than the table has places.
TEST(GraphLifetime, NumbersOfGraphsThatLiveAreNotGivenAgain) {
  Graph first;
  const Var x = first.input("x", DType::f32, {2});
  LiveGraphs::Number last = 0;
  for (int i = 0; i < (1 << 20) + 10; ++i) {
    last = LiveGraphs::add();
    LiveGraphs::remove(last);
  }
  EXPECT_GT(last, 1U << 20);
  EXPECT_EQ((x + 1).rank(), 1);
  EXPECT_FALSE(LiveGraphs::contains(last));
}

TEST_F(GraphTest, ConstantsKeepTheirValueWhenTheTensorChanges) {
  Tensor tensor = Tensor::of<float>({2}, {1, 2});
  const Var before = constant(graph, tensor);
  tensor.data<float>()[0] = 7;
  EXPECT_FALSE(constant(graph, tensor) == before);
  EXPECT_EQ(before.producer().attrs().get<Tensor>("value").to_vector<float>(),
            (std::vector<float>{1, 2}));
}

TEST_F(GraphTest, States) {
  const Var zero = zeros(graph, DType::f32, {2});
  parameter("w", zero);
  EXPECT_EQ(graph.states().size(), 1U);
  EXPECT_TRUE(graph.find_state("w")->trainable);
  EXPECT_EQ(graph.find_state("v"), nullptr);
  expect_error<InvalidArgument>("there is already a state called 'w'", [&] { buffer("w", zero); });
  expect_error<InvalidArgument>("the name of a state must not contain '|', got 'a|b'",
                                [&] { buffer("a|b", zero); });
  expect_error<InvalidArgument>("state 'w' is declared as f32[2] and again as f64[2]", [&] {
    graph.add_state({"w", {DType::f64, {2}}, zero});
  });
  expect_error<InvalidArgument>("a state must have a name", [&] {
    graph.add_state({"", {DType::f32, {2}}, zero});
  });
  expect_error<ShapeError>("state 's' must have a known shape, got [n, 3]",
                           [&] { parameter("s", x); });
}

}  // namespace antichain::graph_test
