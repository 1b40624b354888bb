#include "antichain/session/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "antichain/autodiff/grad.h"
#include "antichain/backends/cpu/cpu_backend.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/eager.h"
#include "tests/conformance/remote_backend.h"
#include "tests/tensor/expect_error.h"

namespace antichain::session_test {

TEST(Session, StatesAreSharedByNameAcrossGraphs) {
  Session session;
  Graph train = session.graph(), evaluate = session.graph();
  parameter("w", full(train, f32, {2}, 3));
  session.compile({}, {.updates = {add_update(train, "w", full(train, f32, {2}, 1))}})({});
  // The second graph finds the value; its own initial value is not used.
  const Var w = parameter("w", zeros(evaluate, f32, {2}));
  EXPECT_EQ(session.compile({w})({})[0].to_vector<float>(), (std::vector<float>{4, 4}));
}

// One that counts its runs, on memory of a device that is gone with its backend.
TEST(Session, ExecutablesOutliveTheirSession) {
  for (const bool remote : {false, true}) {
    SCOPED_TRACE(remote);
    const auto compiled = [remote] {
      Session session(remote ? conformance::make_remote_backend() : make_cpu_backend());
      Graph graph = session.graph();
      const Var x = graph.input("x", f32, {"n"});
      const Var count = parameter("count", zeros(graph, f32, {}));
      return session.compile({sum(-x) + count},
                             {.updates = {add_update(graph, "count", full(graph, f32, {}, 1))}});
    };
    Executable executable = compiled();
    const Tensor x = Tensor::full(f32, {3}, 2);
    EXPECT_EQ(executable({{"x", x}}).item(), -6);
    EXPECT_EQ(executable({{"x", x}}).item(), -5);
    executable = compiled();  // the first one is the last that holds its backend
    EXPECT_EQ(executable({{"x", x}}).item(), -6);
  }
}

TEST(Session, CompilesNoValueOfAGraphThatIsGone) {
  Session session;
  const Var orphan = [&] {
    Graph graph = session.graph();
    return graph.input("x", f32, {2}) + 1;
  }();
  const std::string gone =
      "this value is of a graph that is gone; keep the Graph for as long as its values";
  expect_error<InvalidArgument>(gone, [&] { session.compile({orphan}); });
  expect_error<InvalidArgument>(gone, [&] { grad(orphan, orphan); });
  Graph graph = session.graph();
  expect_error<InvalidArgument>(gone, [&] {
    session.compile({graph.input("x", f32, {2}), orphan});
  });
}

// A graph keeps the engines, which differentiate.
TEST(Session, GraphsOutliveTheirSession) {
  std::optional<Session> session(std::in_place);
  Graph graph = session->graph();
  const Var x = graph.input("x", f32, {3});
  session.reset();
  const Var slope = grad(sum(square(x)), x, {.engine = "forward"});
  Session other;
  EXPECT_EQ(other.compile({slope})({{"x", Tensor::full(f32, {3}, 2)}})[0].to_vector<float>(),
            (std::vector<float>{4, 4, 4}));
}

TEST(Session, StatesOfAnotherShapeAreRefused) {
  Session session;
  session.states().set("w", Tensor::zeros(f64, {3}));
  Graph graph = session.graph();
  const Var w = parameter("w", zeros(graph, f32, {2}));
  expect_error<InvalidArgument>(
      "state 'w' has a value of f64[3] in this session, the graph declares f32[2]",
      [&] { session.compile({w}); });
}

// What was compiled counts on types and shapes: another value would be read as what it is not.
TEST(Session, StatesInUseKeepTheirTypeAndShape) {
  Session session;
  Graph graph = session.graph();
  const Executable twice = session.compile({parameter("w", zeros(graph, f32, {2})) * 2});
  StateStore& states = session.states();
  expect_error<InvalidArgument>(
      "state 'w' is f32[2] in the graphs of this session, the value is f32[1000]",
      [&] { states.set("w", Tensor::zeros(f32, {1000})); });
  expect_error<InvalidArgument>(
      "state 'w' is f32[2] in the graphs of this session, the value is i32[2]",
      [&] { states.set("w", Tensor::zeros(i32, {2})); });
  expect_error<InvalidArgument>("state 'w' cannot be set to nothing",
                                [&] { states.set("w", Tensor()); });
  states.set("w", Tensor::full(f32, {2}, 3));
  EXPECT_EQ(twice({})[0].to_vector<float>(), (std::vector<float>{6, 6}));
}

TEST(Session, StatesOfEagerGraphsKeepTheirTypeToo) {
  Session session;
  Eager eager(session);
  const Var w = parameter("w", eager(Tensor::full(f32, {2}, 1)));
  EXPECT_EQ(w.value().to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_THROW(session.states().set("w", Tensor::zeros(f32, {3})), InvalidArgument);
}

TEST(Session, AllStatesAreSetTogetherOrNone) {
  Session session;
  Graph graph = session.graph();
  const Var a = parameter("a", zeros(graph, f32, {2})), b = parameter("b", zeros(graph, f32, {3}));
  const Executable run = session.compile({a, b});
  StateStore& states = session.states();
  const StateStore::Values before = states.all();
  StateStore::Values values = before;
  values["a"] = Tensor::full(f32, {2}, 1);
  values["b"] = Tensor::zeros(f32, {4});
  expect_error<InvalidArgument>(
      "state 'b' is f32[3] in the graphs of this session, the value is f32[4]",
      [&] { states.set_all(values); });
  values.erase("b");
  expect_error<InvalidArgument>("there is no value for the state 'b' of f32[3]",
                                [&] { states.set_all(values); });
  values["b"] = Tensor::full(f32, {3}, 2);
  values["c"] = Tensor::full(f32, {3}, 2);
  expect_error<InvalidArgument>("there is a value for 'c', which is no state of this session",
                                [&] { states.set_all(values); });
  EXPECT_TRUE(bit_equal(states.get("a"), before.at("a")));  // nothing was set so far
  states.set_all(values, StateStore::Unknown::taken);
  EXPECT_EQ(run({})[0].to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Session, UpdatesMayBeAnyValue) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {});
  EXPECT_EQ(session.compile({x + 1}, {.updates = {x, x * 2}})({{"x", Tensor::scalar(2.0F)}}).item(),
            3);
}

TEST(Session, StatesWithoutAnInitialValueMustBeSet) {
  Session session;
  Graph graph = session.graph();
  graph.add_state({.name = "w", .type = {f32, {2}}});
  const Var w = read_state(graph, "w");
  expect_error<InvalidArgument>("state 'w' has no value in this session and no initial one",
                                [&] { session.compile({w}); });
  session.states().set("w", Tensor::full(f32, {2}, 3));
  EXPECT_EQ(session.compile({w})({})[0].to_vector<float>(), (std::vector<float>{3, 3}));
}

TEST(Session, InitialValuesMayReadOtherStates) {
  Session session;
  Graph graph = session.graph();
  const Var a = parameter("a", full(graph, f32, {2}, 5));
  const Var b = buffer("b", a * 2);
  EXPECT_EQ(session.compile({b})({})[0].to_vector<float>(), (std::vector<float>{10, 10}));
}

TEST(Session, ManyStatesStartTogetherAsTheyWouldAlone) {
  Session together({.seed = 4}), alone({.seed = 4});
  const auto build = [](Graph& graph) {
    std::vector<Var> states = {parameter("w0", random_normal(graph, f32, {3}))};
    for (int i = 1; i < 20; ++i) {
      const std::string name = "w" + std::to_string(i);
      // Every third one starts from the one before.
      states.push_back(
          parameter(name, i % 3 == 0 ? states.back() * 2 : random_normal(graph, f32, {3})));
    }
    return states;
  };
  Graph all = together.graph(), each = alone.graph();
  together.compile(build(all));
  for (Var state : build(each)) {
    alone.compile({state});
    const std::string& name = state_name(state);
    EXPECT_TRUE(bit_equal(together.states().get(name), alone.states().get(name))) << name;
  }
}

TEST(Session, DerivedStatesFollowFromOthersAndAreNotSaved) {
  Session session;
  Graph graph = session.graph();
  const Var w = parameter("w", full(graph, f32, {2}, 3));
  graph.add_state({.name = "twice", .type = {f32, {2}}, .initial = 2 * w, .is_derived = true});
  const Executable read = session.compile({read_state(graph, "twice")});
  EXPECT_EQ(read({})[0].to_vector<float>(), (std::vector<float>{6, 6}));
  EXPECT_FALSE(session.states().all().contains("twice"));
  EXPECT_EQ(session.states().names("tw"), (std::vector<std::string>{"twice"}));
  session.states().set("w", Tensor::of<float>({2}, {1, 5}));
  session.states().derive_again();
  EXPECT_EQ(read({})[0].to_vector<float>(), (std::vector<float>{2, 10}));
  EXPECT_FALSE(session.states().all().contains("twice"));
}

TEST(Reports, KeepTheNewestNumber) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {3});
  Var y;
  {
    const ScopeGuard scope(graph, "encoder");
    y = with_report(square(x), "largest", max(x));
    y = with_report(y, "largest", min(x));  // another series of that name
  }
  const Executable run = session.compile({y});
  const auto report = [&](const std::string& name) {
    return session.states().get(name).item<double>();
  };
  EXPECT_TRUE(std::isnan(report("report/encoder.largest")));
  const Results results = run({{"x", Tensor::of<float>({3}, {1, -4, 2})}});
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{1, 16, 4}));
  EXPECT_EQ(report("report/encoder.largest"), 2);
  EXPECT_EQ(report("report/encoder.largest_2"), -4);
  // Within a chain there is nobody to keep it.
  const Var last =
      chain(x, expand_dims(x, 0), [](Var s, Var) { return with_report(s, "size", sum(s)); }).last;
  session.compile({last});
  EXPECT_EQ(session.states().names(kReportPrefix).size(), 2U);
  expect_error<ShapeError>("report 'all': a report is one number, its shape is [3]",
                           [&] { with_report(x, "all", x); });
}

TEST(Session, StatesDoNotStartFromInputs) {
  Session session;
  Graph graph = session.graph();
  const Var w = parameter("w", graph.input("x", f32, {2}) * 2);
  expect_error<InvalidArgument>(
      "state 'w' starts from input 'x', which has no value before a run; start it from something "
      "that needs no input",
      [&] { session.compile({w}); });
}

TEST(Session, SeedDecidesRandomNumbersAndRunsDiffer) {
  const auto draw = [](std::int64_t seed) {
    Session session({.seed = seed});
    Graph graph = session.graph();
    const Executable run = session.compile({random_uniform(graph, f32, {8})});
    return std::vector<Tensor>{run({})[0], run({})[0]};
  };
  const auto first = draw(1), again = draw(1), other = draw(2);
  EXPECT_TRUE(bit_equal(first[0], again[0]));
  EXPECT_TRUE(bit_equal(first[1], again[1]));
  EXPECT_FALSE(bit_equal(first[0], first[1]));
  EXPECT_FALSE(bit_equal(first[0], other[0]));
}

TEST(Session, UnknownDevices) {
  try {
    Session({.device = "cuda:99"});
    FAIL() << "this machine has 100 GPUs";
  } catch (const DeviceError& error) {
    EXPECT_EQ(std::string(error.what()).find("device 'cuda:99' is not available: "), 0)
        << error.what();
  }
  EXPECT_THROW(Session({.device = "abacus"}), InvalidArgument);
}

TEST(Session, CompileErrors) {
  Session session;
  Graph graph = session.graph(), other = session.graph();
  const Var x = graph.input("x", f32, {2}), y = other.input("x", f32, {2});
  expect_error<InvalidArgument>("compile: there is nothing to compute",
                                [&] { session.compile({}); });
  expect_error<InvalidArgument>("compile: all values must be of one graph", [&] {
    session.compile({x, y});
  });
  Var inner;
  chain(x, graph.input("xs", f32, {3, 2}), [&](Var h, Var x_t) { return inner = h + x_t; });
  EXPECT_THROW(session.compile({inner}), InvalidArgument);
}

TEST(Engines, UnknownNamesListTheKnownOnes) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {2});
  const Var y = sum(call(graph, [&] { return Vars{sin(x)}; }, {.engine = "scam"})[0]);
  expect_error<InvalidArgument>(
      "there is no gradient engine 'scam'; did you mean 'scan'? This session has: backprop, "
      "forward, hashing, likelihood, multigrid, scan",
      [&] { grad(y, x); });
}

TEST(Engines, GraphsWithoutEnginesSaySo) {
  Graph graph;
  const Var x = graph.input("x", f32, {2});
  const Var y = sum(call(graph, [&] { return Vars{sin(x)}; }, {.engine = "forward"})[0]);
  try {
    grad(y, x);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("make the graph with session.graph()"),
              std::string::npos);
  }
}

TEST(Engines, RefusalsGiveTheReason) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {1000, 1000});
  const Var y = sum(call(graph, [&] { return Vars{sin(x)}; }, {.engine = "forward"})[0]);
  try {
    grad(y, x);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const NotSupported& error) {
    EXPECT_NE(std::string(error.what()).find("1000000 elements"), std::string::npos)
        << error.what();
  }
}

TEST(Engines, DataThatNeedsNoGradientMayBeLarge) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {1000, 1000}), w = graph.input("w", f32, {});
  const Var y = sum(call(graph, [&] { return Vars{sin(x * w)}; }, {.engine = "forward"})[0]);
  EXPECT_NO_THROW(grad(y, w));
}

// A recurrent chain by `forward` inside a model that is otherwise differentiated by
// back-propagation.
TEST(Engines, TwoInOneModel) {
  const auto gradients = [](const std::string& engine) {
    Session session;
    Graph graph = session.graph();
    const Var xs = graph.input("xs", f64, {"time", 2, 3}), w_in = graph.input("w_in", f64, {3, 2}),
              w = graph.input("w", f64, {2, 2}), w_out = graph.input("w_out", f64, {2, 1});
    const Var projected = matmul(xs, w_in);
    const auto cell = [&](Var h, Var x) { return tanh(matmul(h, w) + x); };
    const Var last = chain(zeros(graph, f64, {2, 2}), projected, cell, {.engine = engine}).last;
    const Var loss = sum(square(matmul(last, w_out)));
    Feeds feeds;
    for (const auto& [name, shape] : std::map<std::string, Shape>{
             {"xs", {5, 2, 3}}, {"w_in", {3, 2}}, {"w", {2, 2}}, {"w_out", {2, 1}}}) {
      std::vector<double> values(static_cast<std::size_t>(numel(shape)));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::sin(static_cast<double>(i) + static_cast<double>(name.size()));
      }
      feeds[name] = Tensor::of<double>(shape, values);
    }
    return session.compile(grad(loss, {xs, w_in, w, w_out}))(feeds).tensors();
  };
  const std::vector<Tensor> mixed = gradients("forward"), plain = gradients("backprop");
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::vector<double> a = mixed[i].to_vector<double>(), b = plain[i].to_vector<double>();
    for (std::size_t n = 0; n < b.size(); ++n) {
      EXPECT_NEAR(a[n], b[n], 1e-13 * (1 + std::abs(b[n])));
    }
  }
}

}  // namespace antichain::session_test
