// Chains whose states Newton's method finds, against chains that run step by step.
#include <gmock/gmock.h>

#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/eager.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/remote_backend.h"

namespace antichain::newton_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Tensor random_values(DType dtype, const Shape& shape, std::uint64_t seed, double size = 1) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> draw(-size, size);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = draw(generator);
  }
  return Tensor::of<double>(shape, values).cast(dtype);
}

// The outputs of a chain that a model builds, and the gradients of what is made of them.
using Model = std::function<ChainResult(const Vars& in, const ChainOptions& options)>;
struct Case {
  std::vector<Shape> inputs;
  Model model;
  DType dtype = f64;
  double size = 1;  // of the inputs
};
struct Outcome {
  std::vector<Tensor> values;
  std::vector<std::string> warnings;
};

Outcome run(const Case& test, const ChainOptions& options, SessionOptions session_options = {}) {
  Outcome result;
  session_options.logger = Logger(LogLevel::warning, [&](LogLevel, std::string_view line) {
    result.warnings.emplace_back(line);
  });
  Session session(session_options);
  Graph graph = session.graph();
  Vars in;
  Feeds feeds;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    const std::vector<DimSpec> declared(test.inputs[i].begin(), test.inputs[i].end());
    in.push_back(graph.input(name, test.dtype, declared));
    feeds[name] = random_values(test.dtype, test.inputs[i], i, test.size);
  }
  const ChainResult found = test.model(in, options);
  Vars outputs = found.last;
  outputs.insert(outputs.end(), found.before.begin(), found.before.end());
  outputs.insert(outputs.end(), found.ys.begin(), found.ys.end());
  Var loss = scalar(graph, test.dtype, 0);
  for (Var output : outputs) {
    loss = is_float(output.dtype()) ? loss + sum(square(output)) : loss;
  }
  const Vars grads = grad(loss, in, {.zero_if_unused = true});
  outputs.insert(outputs.end(), grads.begin(), grads.end());
  const Executable executable = session.compile(outputs);
  executable(feeds);
  result.values = executable(feeds).tensors();  // twice: a warning comes once
  return result;
}

void expect_same(const Outcome& got, const Outcome& want, double tolerance) {
  ASSERT_EQ(got.values.size(), want.values.size());
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    conformance::expect_close(got.values[i], want.values[i], tolerance,
                              "value " + std::to_string(i));
  }
}

EngineChoice newton(std::int64_t iterations = 16, const char* when = "never") {
  return {"scan", {{"forward", "newton"}, {"iterations", iterations}, {"when", when}}};
}

// Newton's method converges, in either direction and precision, for either engine.
void expect_converges(Case test, std::int64_t iterations = 16) {
  for (const bool reverse : {false, true}) {
    for (const DType dtype : {f32, f64}) {
      for (const char* when : {"never", "always"}) {
        test.dtype = dtype;
        const EngineChoice by_steps("scan", {{"when", when}});
        const Outcome got = run(test, {.engine = newton(iterations, when), .reverse = reverse});
        EXPECT_THAT(got.warnings, IsEmpty());
        expect_same(got, run(test, {.engine = by_steps, .reverse = reverse}),
                    dtype == f64 ? 1e-10 : 1e-4);
      }
    }
  }
}

Case rnn(std::int64_t steps = 40) {
  return {{{2, 3}, {steps, 2, 3}, {3, 3}}, [](const Vars& in, const ChainOptions& options) {
            const auto cell = [&](Var, const Vars& h, const Vars& x) -> StepResult {
              const Var next = tanh(matmul(h[0], in[2]) + x[0]);
              return {{next}, {next * x[0]}};
            };
            return chain({in[0]}, {in[1]}, cell, options);
          }};
}

TEST(Newton, FindsTheStatesOfAnRnn) {
  expect_converges(rnn());
  for (const std::int64_t steps : {0, 1, 2}) {
    expect_converges(rnn(steps));
  }
}

TEST(Newton, FindsTheStatesOfAGru) {
  expect_converges(
      {{{2, 3}, {50, 2, 9}, {3, 9}}, [](const Vars& in, const ChainOptions& options) {
         const auto cell = [&](Var, const Vars& s, const Vars& x) -> StepResult {
           const Vars a = split(x[0], {3, 3, 3}, 1), b = split(matmul(s[0], in[2]), {3, 3, 3}, 1);
           const Var fresh = tanh(a[2] + sigmoid(a[0] + b[0]) * b[2]);
           return {{fresh + sigmoid(a[1] + b[1]) * (s[0] - fresh)}};
         };
         return chain({in[0]}, {in[1]}, cell, options);
       }});
}

// Two states, which are one of twice the size for the method.
TEST(Newton, FindsTheStatesOfAnLstm) {
  expect_converges(
      {{{2, 3}, {2, 3}, {30, 2, 12}, {3, 12}}, [](const Vars& in, const ChainOptions& options) {
         const auto cell = [&](Var, const Vars& s, const Vars& x) -> StepResult {
           const Vars gates = split(matmul(s[0], in[3]) + x[0], {3, 3, 3, 3}, 1);
           const Var c = sigmoid(gates[1]) * s[1] + sigmoid(gates[0]) * tanh(gates[2]);
           const Var h = sigmoid(gates[3]) * tanh(c);
           return {{h, c}, {h * s[1], c}};
         };
         return chain({in[0], in[1]}, {in[2]}, cell, options);
       }});
}

// A state that steps are linear in is found at once: any other guess is as good.
TEST(Newton, FindsLinearStatesInOneIteration) {
  expect_converges({{{2, 3}, {60, 2, 3}, {60, 2, 3}},
                    [](const Vars& in, const ChainOptions& options) {
                      const auto cell = [](Var, const Vars& h, const Vars& x) -> StepResult {
                        const Var take = sigmoid(x[0]), next = (1 - take) * h[0] + take * x[1];
                        return {{next}, {next}};
                      };
                      return chain({in[0]}, {in[1], in[2]}, cell, options);
                    }},
                   1);
}

TEST(Newton, FindsStatesWithoutASequence) {
  Case test{{{4}}, [](const Vars& in, ChainOptions options) {
              options.length = 25;
              return chain(
                  {in[0]}, {},
                  [](Var step, const Vars& s, const Vars&) -> StepResult {
                    return {{sin(s[0]) + cast(step, s[0].dtype()) * 0.01}};
                  },
                  options);
            }};
  expect_converges(test);
}

// Small differences grow in every step: no guess is near enough, and the steps run one by one, with
// the very bits of a chain.
TEST(Newton, FallsBackWhereItDoesNotConverge) {
  const Case test{{{3}, {60, 3}},
                  [](const Vars& in, const ChainOptions& options) {
                    const auto cell = [](Var, const Vars& s, const Vars& x) -> StepResult {
                      return {{sin(5 * s[0] + x[0])}};
                    };
                    return chain({in[0]}, {in[1]}, cell, options);
                  },
                  f64,
                  0.9};
  const Outcome want = run(test, {});
  const Outcome got = run(test, {.engine = newton(8)});
  expect_same(got, want, 0);
  EXPECT_THAT(
      got.warnings,
      ElementsAre(testing::AllOf(
          testing::StartsWith("chain (newton_test.cpp:"),
          HasSubstr("runs step by step: Newton's method has not converged: after 8 iterations "))));
}

// Linearised at the first guess, these steps expand by 3.8 each: the next guess is infinite.
TEST(Newton, FallsBackWhereItDiverges) {
  const Case test{{{3}, {1000, 3}},
                  [](const Vars& in, const ChainOptions& options) {
                    const auto cell = [](Var, const Vars& s, const Vars& x) -> StepResult {
                      return {{2 - square(s[0]) + x[0] * 0}};
                    };
                    return chain({in[0] * 0 + 1.9}, {in[1]}, cell, options);
                  },
                  f32};
  const Outcome want = run(test, {});
  const Outcome got = run(test, {.engine = newton()});
  expect_same(got, want, 0);
  EXPECT_THAT(got.warnings,
              ElementsAre(HasSubstr("Newton's method has diverged after 1 iterations")));
}

TEST(Newton, SaysWhichChainsItCannotRun) {
  const auto reason = [](const Case& test) {
    const Outcome got = run(test, {.engine = newton()});
    expect_same(got, run(test, {}), 0);
    return got.warnings;
  };
  EXPECT_THAT(
      reason({{{2, 2}, {3, 2, 2}},
              [](const Vars& in, const ChainOptions& options) {
                const auto cell = [](Var, const Vars& s, const Vars& x) -> StepResult {
                  return {{s[0] * x[0], s[1] + 1}};
                };
                return chain({in[0], scalar(in[0].graph(), i64, 0)}, {in[1]}, cell, options);
              }}),
      ElementsAre(HasSubstr("it carries i64 and not only f32 or f64")));
  EXPECT_THAT(reason({{{2, 600}, {3, 2, 600}},
                      [](const Vars& in, const ChainOptions& options) {
                        const auto cell = [](Var, const Vars& s, const Vars& x) -> StepResult {
                          return {{s[0] * sum(s[0]) * 1e-3 + x[0]}};
                        };
                        return chain({in[0]}, {in[1]}, cell, options);
                      }}),
              ElementsAre(HasSubstr("its steps mix 1200 numbers of the state")));
}

TEST(Newton, TakesToleranceAndIterationsAtTheirWord) {
  // One iteration is too few for the tolerance of f64, and enough for a rough one.
  const Case test = rnn(10);
  EXPECT_EQ(run(test, {.engine = newton(1)}).warnings.size(), 1u);
  const char* rough = "scan:forward=newton,tolerance=0.9,iterations=1";
  EXPECT_THAT(run(test, {.engine = rough}).warnings, IsEmpty());
  for (const char* bad : {"scan:forward=jacobi", "scan:forward=newton,tolerance=-1",
                          "scan:forward=newton,iterations=0"}) {
    EXPECT_THROW(run(test, {.engine = bad}), InvalidArgument) << bad;
  }
}

TEST(Newton, RunsOnMemoryThatTheHostCannotTouch) {
  const auto last = [](const EngineChoice& engine) {
    Session session(conformance::make_remote_backend());
    Graph graph = session.graph();
    const Var xs = graph.input("xs", f32, {"time", "batch", 3});
    const Var h = nn::rnn(xs, 4, {.engine = engine}).last;
    return session.compile({h})({{"xs", random_values(f32, {20, 2, 3}, 1)}})[0];
  };
  conformance::expect_close(last(newton()), last({}), 1e-4, "last state");
}

TEST(Newton, RunsInEagerMode) {
  Session session;
  Eager eager(session);
  const Var h = eager(random_values(f64, {3}, 1)), xs = eager(random_values(f64, {9, 3}, 2));
  const auto cell = [](Var s, Var x) { return sin(s + x); };
  const Var got = chain(h, xs, cell, {.engine = newton()}).all, want = chain(h, xs, cell).all;
  conformance::expect_close(got.value(), want.value(), 1e-11, "states");
}

// What the method measures is kept by programs that train, and in eager mode.
TEST(Newton, ReportsIterationsAndResidual) {
  const std::vector<std::string> names = {"report/encoder.newton_iterations",
                                          "report/encoder.newton_residual"};
  for (const std::int64_t iterations : {1, 16}) {
    Session session({.logger = Logger(LogLevel::error)});
    Graph graph = session.graph();
    const Var h = graph.input("h", f64, {3}), xs = graph.input("xs", f64, {9, 3});
    const auto cell = [](Var s, Var x) { return sin(s + x); };
    const auto last = [&] {
      const ScopeGuard scope(graph, "encoder");
      return chain(h, xs, cell, {.engine = newton(iterations)}).last;
    }();
    const Feeds feeds = {{"h", random_values(f64, {3}, 1)}, {"xs", random_values(f64, {9, 3}, 2)}};
    session.compile({last})(feeds);
    EXPECT_THAT(session.states().names(kReportPrefix), IsEmpty());
    buffer("runs", scalar(graph, f64, 0));
    session.compile({last}, {.updates = {add_update(graph, "runs", scalar(graph, f64, 1))}})(feeds);
    ASSERT_EQ(session.states().names(kReportPrefix), names);
    const auto count = session.states().get(names[0]).item<double>();
    const auto residual = session.states().get(names[1]).item<double>();
    EXPECT_LE(count, iterations);
    EXPECT_GE(count, std::min<std::int64_t>(iterations, 3));
    EXPECT_EQ(residual <= 1e-12, iterations > 1) << residual;
    EXPECT_FALSE(session.states().all().contains(names[0]));
  }
  Session session;
  Eager eager(session);
  for (int run = 0; run < 2; ++run) {
    const ScopeGuard scope(eager.graph(), "encoder");
    const Var h = eager(random_values(f64, {3}, 1)), xs = eager(random_values(f64, {9, 3}, 2));
    chain(h, xs, [](Var s, Var x) { return sin(s + x); }, {.engine = newton()});
  }
  EXPECT_EQ(session.states().names(kReportPrefix), names);
  EXPECT_GE(session.states().get(names[0]).item<double>(), 3);
  EXPECT_FALSE(session.states().all().contains(names[0]));
}

TEST(Newton, RunsInsideAnotherChain) {
  const Case test{{{3}, {4, 3}, {12, 3}}, [](const Vars& in, const ChainOptions& options) {
                    const auto inner = [](Var s, Var x) { return sin(s + x); };
                    const auto outer = [&](Var, const Vars& s, const Vars& x) -> StepResult {
                      return {{chain(s[0] + x[0], in[2], inner, options).last}};
                    };
                    return chain({in[0]}, {in[1]}, outer);
                  }};
  const Outcome got = run(test, {.engine = newton()});
  EXPECT_THAT(got.warnings, IsEmpty());
  expect_same(got, run(test, {}), 1e-10);
}

TEST(Newton, IsNotForASmallMemory) {
  std::vector<std::string> warnings;
  Session session({.logger = Logger(LogLevel::warning, [&](LogLevel, std::string_view line) {
                     warnings.emplace_back(line);
                   })});
  Graph graph = session.graph();
  const Var h = graph.input("h", f32, {4}), xs = graph.input("xs", f32, {50, 4});
  const auto cell = [](Var s, Var x) { return sin(s + x); };
  const Var last = chain(h, xs, cell, {.engine = newton()}).last;
  const auto steps = [&](const CompileOptions& options) {
    return session.compile({last}, options).num_steps();
  };
  EXPECT_LT(steps({.memory_budget = 1 << 20}), steps({}));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("runs step by step: Newton's method keeps")));
}

}  // namespace antichain::newton_test
