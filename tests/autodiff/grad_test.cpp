// What grad(), vjp() and jvp() mean, and what they say when there is nothing to return.
#include "antichain/autodiff/grad.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::grad_test {

class Grad : public testing::Test {
 protected:
  std::vector<double> values(Var var, double at = 2) {
    return session.compile({var})({{"x", Tensor::full(DType::f64, {3}, at)}})[0]
        .to_vector<double>();
  }

  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", DType::f64, {3});
};

using Doubles = std::vector<double>;

TEST_F(Grad, TargetsThatAreNotScalarsAreSummed) {
  EXPECT_EQ(values(grad(x * x, x)), (Doubles{4, 4, 4}));
  EXPECT_EQ(values(grad(sum(x * x), x)), (Doubles{4, 4, 4}));
}

TEST_F(Grad, OfAValueWithRespectToItselfIsOne) {
  EXPECT_EQ(values(grad(x, x)), (Doubles{1, 1, 1}));
}

TEST_F(Grad, TotalDerivativesWhenVariablesDependOnEachOther) {
  const Var h = x * 3, y = h * x;  // y = 3 x^2
  const Vars grads = grad(y, {x, h, x});
  EXPECT_EQ(values(grads[0]), (Doubles{12, 12, 12}));
  EXPECT_EQ(values(grads[1]), (Doubles{2, 2, 2}));
  EXPECT_EQ(values(grads[2]), (Doubles{12, 12, 12}));
}

TEST_F(Grad, PartialDerivativesByStoppingTheOtherPath) {
  const Var h = x * 3, y = stop_gradient(h) * x;
  EXPECT_EQ(values(grad(y, x)), (Doubles{6, 6, 6}));
}

TEST_F(Grad, JvpMovesVariablesIndependently) {
  const Var h = x * 3, y = h * x;
  // dy = x dh + h dx with dh = 1 given, not 3 dx.
  EXPECT_EQ(values(jvp({y}, {x, h}, {ones_like(x), ones_like(h)})[0]), (Doubles{8, 8, 8}));
  EXPECT_EQ(values(jvp({y}, {x}, {ones_like(x)})[0]), (Doubles{12, 12, 12}));
}

TEST_F(Grad, EnginesAgreeOnTotalDerivatives) {
  for (const char* engine : {"backprop", "forward"}) {
    const Var h = x * 3, y = h * x;
    const Vars grads = grad(y, {x, h, x}, {.engine = engine});
    EXPECT_EQ(values(grads[0]), (Doubles{12, 12, 12})) << engine;
    EXPECT_EQ(values(grads[1]), (Doubles{2, 2, 2})) << engine;
    EXPECT_EQ(values(grads[2]), (Doubles{12, 12, 12})) << engine;
  }
}

TEST_F(Grad, VjpWeighsSeveralOutputs) {
  const Vars grads = vjp({x * x, exp(x) * 0, x}, {ones_like(x), ones_like(x), x}, {x});
  EXPECT_EQ(values(grads[0]), (Doubles{6, 6, 6}));
}

TEST_F(Grad, ZeroIfUnused) {
  const Var w = graph.input("w", DType::f64, {2});
  EXPECT_EQ(values(grad(x, w, {.zero_if_unused = true})), (Doubles{0, 0}));
}

TEST_F(Grad, StopGradient) {
  EXPECT_EQ(values(stop_gradient(x)), (Doubles{2, 2, 2}));
  EXPECT_EQ(values(grad(x * stop_gradient(x), x)), (Doubles{2, 2, 2}));
  EXPECT_EQ(values(jvp({x * stop_gradient(x)}, {x}, {ones_like(x)})[0]), (Doubles{2, 2, 2}));
}

TEST_F(Grad, PrintAndAssertFiniteLetGradientsPass) {
  EXPECT_EQ(values(grad(assert_finite(x) * x, x)), (Doubles{4, 4, 4}));
  Executable run = session.compile({grad(print(x * x), x)});
  run.set_print_line([](std::string_view) {});
  EXPECT_EQ(run({{"x", Tensor::full(DType::f64, {3}, 2)}})[0].to_vector<double>(),
            (Doubles{4, 4, 4}));
}

TEST_F(Grad, SaysWhichOpIsInTheWay) {
  const auto line = __LINE__ + 1;
  const Var picked = cast(argmax(x, 0), DType::f64);
  expect_error<InvalidArgument>(
      fmt::format("{} has no gradient with respect to x: argmax {} (grad_test.cpp:{}) carries no "
                  "gradient: its result is a position",
                  picked.name(), picked.producer().input(0).name(), line),
      [&] { grad(picked, x); });
}

TEST_F(Grad, SaysThatNothingDepends) {
  const Var w = graph.input("w", DType::f64, {});
  graph.set_name(w, "weight");
  argmax(x, 0);
  const Var y = exp(w);
  expect_error<InvalidArgument>(
      y.name() + " has no gradient with respect to x: it does not depend on it",
      [&] { grad(y, x); });
}

TEST_F(Grad, ComparisonsCarryNoGradient) {
  const Var y = cast(less(x, 1), DType::f64);
  const Op less_op = y.producer().input(0).producer();
  expect_error<InvalidArgument>(y.name() +
                                    " has no gradient with respect to x: " + less_op.describe() +
                                    " carries no gradient: its result is true or false",
                                [&] { grad(y, x); });
}

TEST_F(Grad, IntegersHaveNoDerivatives) {
  const Var n = graph.input("n", DType::i64, {});
  expect_error<TypeError>("n is i64; only floating-point values have derivatives",
                          [&] { grad(sum(x), n); });
  expect_error<TypeError>("n is i64; only floating-point values have derivatives",
                          [&] { grad(n, x); });
}

TEST_F(Grad, SeedsMustFit) {
  expect_error<ShapeError>("the gradient of x must be f64[3]",
                           [&] { vjp({x}, {ones(graph, DType::f64, {2})}, {x}); });
  expect_error<ShapeError>("the gradient of x must be f64[3]",
                           [&] { vjp({x}, {ones(graph, DType::f32, {3})}, {x}); });
  expect_error<ShapeError>("the tangent of x must be f64[3]", [&] { jvp({x}, {x}, {Var()}); });
  expect_error<InvalidArgument>("1 values and 0 tangents", [&] { jvp({x}, {x}, {}); });
  expect_error<InvalidArgument>("1 values and 2 gradients", [&] { vjp({x}, {x, x}, {x}); });
}

TEST_F(Grad, NothingToDifferentiate) {
  const char* message = "a derivative needs something to differentiate and a variable";
  expect_error<InvalidArgument>(message, [&] { grad(x, Vars{}); });
  expect_error<InvalidArgument>(message, [&] { vjp({}, {}, {x}); });
}

TEST_F(Grad, ValuesOfOneGraph) {
  Graph other;
  const Var stranger = other.input("x", DType::f64, {3});
  const char* message = "a derivative needs values of one graph";
  expect_error<InvalidArgument>(message, [&] { grad(x, stranger); });
  expect_error<InvalidArgument>(message, [&] { grad(x, Var()); });
  expect_error<InvalidArgument>(message, [&] { grad(Var(), x); });
}

}  // namespace antichain::grad_test
