#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/passes/pipeline.h"
#include "antichain/session/session.h"

namespace antichain::simplify_test {

std::size_t count(Graph& graph, std::string_view op) {
  std::size_t found = 0;
  for (std::uint32_t id = 0; id < graph.num_ops(); ++id) {
    found += graph.op(OpId{id}).def().name == op ? 1 : 0;
  }
  return found;
}

TEST(Simplify, DropsWhatNobodyNeedsAndKeepsInputs) {
  Graph graph;
  const Var x = graph.input("x", f32, {2});
  graph.input("unused", f32, {2});
  exp(x);
  const Var y = sin(x);
  const GraphCopy copy = run_passes(graph, std::vector<Var>{y}, {}, {.level = 1});
  EXPECT_EQ(count(*copy.graph, "exp"), 0U);
  EXPECT_EQ(count(*copy.graph, "sin"), 1U);
  EXPECT_EQ(copy.graph->inputs().size(), 2U);
  verify(*copy.graph);
}

TEST(Simplify, AppliesRewritesOneAfterAnother) {
  Graph graph;
  const Var x = graph.input("x", f32, {2, 3});
  const Var y = -(-(reshape(reshape(x * 1.0, {6}), {2, 3})));
  const GraphCopy copy = run_passes(graph, std::vector<Var>{y}, {}, {.level = 1});
  EXPECT_EQ(copy.values[0], copy.graph->inputs()[0].output());
  const GraphCopy plain = run_passes(graph, std::vector<Var>{y}, {}, {.level = 0});
  EXPECT_EQ(count(*plain.graph, "negate"), 2U);
}

TEST(Simplify, RepeatedNumbersAreNumbers) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 3});
  const auto simple = [&](Var y) { return run_passes(graph, {{y}}, {}, {.level = 1}); };
  for (const Var y :
       {x * ones_like(x), ones_like(x) * x, x / broadcast_to(ones_like(x), {x.dim(0), 3})}) {
    const GraphCopy copy = simple(y);
    EXPECT_EQ(copy.values[0], copy.graph->inputs()[0].output());
  }
  EXPECT_EQ(count(*simple(x * broadcast_to(ones_like(x), {2, x.dim(0), 3})).graph, "multiply") +
                count(*simple(x * zeros_like(x)).graph, "multiply"),
            2U);
}

TEST(Simplify, RewritesBodiesToo) {
  Graph graph;
  const Var x = graph.input("x", f32, {2}), xs = graph.input("xs", f32, {3, 2});
  const Var y = chain(x, xs, [](Var h, Var x_t) { return -(-(h + x_t)) * 1.0; }).last;
  const GraphCopy copy = run_passes(graph, std::vector<Var>{y}, {}, {.level = 1});
  const RegionId body = copy.values[0].producer().regions()[0];
  const Var result = copy.graph->var(copy.graph->region(body).results[0]);
  EXPECT_EQ(result.producer().def().name, "add");
  verify(*copy.graph);
}

TEST(Simplify, KeepsSignedZerosAndNaN) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {4});
  const Var y = (x + 0.0) * 1.0 - 0.0;
  const Feeds feeds = {{"x", Tensor::of<double>({4}, {-0.0, 0.0, NAN, INFINITY})}};
  const Tensor fast = session.compile({y})(feeds)[0];
  const Tensor plain = session.compile({y}, {.compiler = {.level = 0}})(feeds)[0];
  EXPECT_TRUE(bit_equal(fast, plain));
}

TEST(Simplify, ChangesNoBitOfATrainingStep) {
  const auto run = [](int level) {
    Session session({.seed = 3});
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {"n", 3});
    const Var w = parameter("w", random_normal(graph, f32, {3}));
    const Var noise = random_uniform(graph, f32, x.shape());
    const Var loss = mean(square(tanh(x * w) + 0.1 * noise));
    const Var update = add_update(graph, "w", -0.5 * grad(loss, w));
    const Executable step =
        session.compile({loss}, {.updates = {update}, .compiler = {.level = level}});
    std::vector<Tensor> seen;
    for (int i = 0; i < 3; ++i) {
      seen.push_back(step({{"x", Tensor::full(f32, {4, 3}, 0.7)}})[0]);
    }
    seen.push_back(session.states().get("w"));
    return seen;
  };
  const std::vector<Tensor> plain = run(0);
  for (const int level : {1, 2, 3}) {
    const std::vector<Tensor> fast = run(level);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(bit_equal(fast[i], plain[i])) << i << ", level " << level;
    }
  }
}

}  // namespace antichain::simplify_test
