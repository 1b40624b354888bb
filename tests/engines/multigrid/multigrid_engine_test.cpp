// What users of the engine meet: options, refusals, explanations, reports, sizes, threads.
#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/eager.h"
#include "antichain/session/threads.h"
#include "tests/conformance/compare.h"
#include "tests/engines/multigrid/chains.h"

namespace antichain::multigrid_test::engine_test {

using testing::HasSubstr;
using testing::IsEmpty;

Tensor ramp(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<double>(i));
  }
  return Tensor::of<double>(shape, values);
}

Var step(Var u, Var w) { return u + 0.1 * tanh(u * w); }

template <class Error>
std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

struct Built {
  Session session;
  Graph graph = session.graph();
  Var u = graph.input("u", f64, {"batch", 3}), w = graph.input("w", f64, {40, 3});
  Feeds feeds = {{"u", ramp({2, 3})}, {"w", ramp({40, 3})}};

  std::string explanation(const std::function<Var(Var, Var)>& cell, const EngineChoice& engine) {
    const Op op = chain(u, w, cell, {.engine = engine}).last.producer();
    return session.engines().find("multigrid").explain(op);
  }
};

TEST(MultigridEngine, GoesStepByStepWhereThatIsFaster) {
  const Model model = residual_net(64);
  const Outcome want = run(model, {});
  for (const char* engine : {"multigrid", "multigrid:when=never", "multigrid:cycles=3"}) {
    const Outcome got = run(model, {.engine = engine});
    EXPECT_EQ(error(got.values, want.values), 0) << engine;
    EXPECT_EQ(error(got.gradients, want.gradients), 0) << engine;
  }
}

TEST(MultigridEngine, ExplainsItsChoice) {
  Built built;
  EXPECT_EQ(built.explanation(step, "multigrid:when=always"),
            "by multigrid, as it was asked for: 2 grids, coarse steps matched");
  EXPECT_THAT(built.explanation(step, "multigrid"),
              HasSubstr("step by step: a solve in 2 cycles takes about"));
  EXPECT_EQ(built.explanation(step, "multigrid:when=never"), "step by step, as it was asked for");
  EXPECT_EQ(built.explanation(step, "multigrid:when=always,coarsening=32"),
            "step by step: 40 steps are too few for a coarser grid");
  EXPECT_THAT(built.explanation([](Var u, Var w) { return tanh(u * w); }, "multigrid"),
              HasSubstr("step by step: its step is not a state plus a change"));
}

TEST(MultigridEngine, RefusesBodiesWithoutACoarseStep) {
  Built built;
  const auto gradient = [&](const EngineChoice& engine, const std::function<Var(Var, Var)>& cell) {
    return grad(sum(chain(built.u, built.w, cell, {.engine = engine}).last), built.w);
  };
  const auto forgets = [](Var u, Var w) { return tanh(u * w); };
  EXPECT_THAT(message_of<NotSupported>([&] { gradient("multigrid:when=always", forgets); }),
              HasSubstr("multiply the step size by grid_stride()"));
  gradient("multigrid:when=always,coarse=same", forgets);
  gradient("multigrid", forgets);
  EXPECT_EQ(message_of<InvalidArgument>([&] { gradient("multigrid:backward_levels=1", step); }),
            "the option backward_levels of engine 'multigrid' must be at least 2, or 0 for that of "
            "the forward problem");
  EXPECT_THAT(message_of<InvalidArgument>([&] { gradient("multigrid:coarsening=1", step); }),
              HasSubstr("'coarsening' must be within [2, 1000000], got 1"));
  EXPECT_THAT(message_of<NotSupported>([&] {
                grad(sum(step(built.u, sum(built.w))), built.u, {.engine = "multigrid"});
              }),
              HasSubstr("runs a region forward in its own way"));
}

TEST(MultigridEngine, RefusesEffectsAndBooleans) {
  Built built;
  const auto reason = [&](const Vars& states, const auto& body) {
    const ChainResult found = chain(states, {built.w}, body, {.engine = multigrid({})});
    return built.session.engines()
        .find("multigrid")
        .supports(found.last[0].producer(), {true, true})
        .reason;
  };
  const Var flag = greater(sum(built.w), 0);
  EXPECT_THAT(reason({built.u, flag},
                     [](Var, const Vars& s, const Vars& w) -> StepResult {
                       return {{step(s[0], w[0]), logical_not(s[1])}};
                     }),
              HasSubstr("carries bool"));
}

TEST(MultigridEngine, ReportsCyclesAndResiduals) {
  Built built;
  buffer("runs", scalar(built.graph, f64, 0));
  const Var last = [&] {
    const ScopeGuard scope(built.graph, "encoder");
    return chain(built.u, built.w, step,
                 {.engine = multigrid({{"cycles", 9}, {"tolerance", 1e-9}})})
        .last;
  }();
  const Var gradient = grad(sum(last), built.w);
  built.session.compile({last, gradient})(built.feeds);
  EXPECT_THAT(built.session.states().names(kReportPrefix), IsEmpty());
  built.session.compile(
      {last, gradient},
      {.updates = {add_update(built.graph, "runs", scalar(built.graph, f64, 1))}})(built.feeds);
  for (const char* part : {"report/encoder.", "report/encoder.adjoint."}) {
    const auto reported = [&](const char* series) {
      return built.session.states().get(std::string(part) + series).item<double>();
    };
    EXPECT_GE(reported("multigrid_cycles"), 2);
    EXPECT_LE(reported("multigrid_cycles"), 5);
    EXPECT_LE(reported("multigrid_residual"), 1e-9);
    EXPECT_LT(reported("multigrid_ratio"), 1);
  }
}

TEST(MultigridEngine, KeepsSymbolicSizes) {
  for (const EngineChoice& engine : {EngineChoice(), multigrid({{"cycles", 8}})}) {
    Session session;
    Graph graph = session.graph();
    const Var u = graph.input("u", f64, {"batch", 3}), w = graph.input("w", f64, {"layers", 3});
    const Var last = chain(u, w, step, {.engine = engine}).last;
    const Executable run = session.compile({last, grad(sum(square(last)), w)});
    for (const std::int64_t layers : {64, 40, 21, 8, 5}) {
      const Feeds feeds = {{"u", ramp({2, 3})}, {"w", ramp({layers, 3})}};
      const std::vector<Tensor> got = run(feeds).tensors();
      Session by_steps;
      Graph plain = by_steps.graph();
      const Var x = plain.input("u", f64, {2, 3}), y = plain.input("w", f64, {layers, 3});
      const Var want_last = chain(x, y, step).last;
      const std::vector<Tensor> want =
          by_steps.compile({want_last, grad(sum(square(want_last)), y)})(feeds).tensors();
      EXPECT_LT(error(got, want), 1e-12) << layers;
    }
  }
}

TEST(MultigridEngine, SecondDerivatives) {
  Session session;
  Graph graph = session.graph();
  const Var u = graph.input("u", f64, {3}), w = graph.input("w", f64, {12, 3});
  const auto second = [&](const EngineChoice& engine) {
    const Var slope = grad(sum(square(chain(u, w, step, {.engine = engine}).last)), w);
    return grad(sum(sin(slope)), std::vector<Var>{u, w});
  };
  Vars all = second({});
  const Vars got = second(multigrid({{"coarsening", 3}, {"cycles", 4}}));
  all.insert(all.end(), got.begin(), got.end());
  const std::vector<Tensor> found =
      session.compile(all)({{"u", ramp({3})}, {"w", ramp({12, 3})}}).tensors();
  EXPECT_LT(error({found[2], found[3]}, {found[0], found[1]}), 1e-11);
}

TEST(MultigridEngine, RunsInEagerMode) {
  Session session;
  Eager eager(session);
  const Var u = eager(ramp({2, 3})), w = eager(ramp({40, 3}));
  const Var got = chain(u, w, step, {.engine = multigrid({{"cycles", 5}})}).all;
  const Var want = chain(u, w, step).all;
  EXPECT_LT(error({got.value()}, {want.value()}), 1e-12);
  EXPECT_LT(error({grad(sum(sin(got)), w).value()}, {grad(sum(sin(want)), w).value()}), 1e-12);
}

TEST(MultigridEngine, HasTheSameBitsOnAnyNumberOfThreads) {
  const Model model = residual_net(96, 40);
  const int before = num_threads();
  set_num_threads(1);
  const Outcome one = run(model, {.engine = multigrid({})});
  set_num_threads(3);
  const Outcome three = run(model, {.engine = multigrid({})});
  set_num_threads(before);
  for (std::size_t i = 0; i < one.gradients.size(); ++i) {
    EXPECT_EQ(one.gradients[i].to_vector<double>(), three.gradients[i].to_vector<double>());
  }
}

}  // namespace antichain::multigrid_test::engine_test
