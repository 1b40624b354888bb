#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/products/matmul.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain::jacobian_test {

// R^3 -> R^2x2, with a part that does not depend on x.
Var field(Var x) {
  const Var row = reshape(x, {1, 3}), product = matmul(row, sin(row), {.transpose_a = true});
  return reshape(sum(product, {1}) * x, {3, 1}) * exp(-x);
}

TEST(Jacobian, ModesAgreeWithFiniteDifferences) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x0", DType::f64, {3});
  const Var y = field(x);
  const Executable values = session.compile({y});
  const std::vector<Tensor> at = {random_values({3}, 1)};
  const Results found = session.compile({jacobian(y, x), jacobian(y, x, JacobianMode::reverse),
                                         jacobian(y, x, JacobianMode::forward)})(feed(at));
  for (std::size_t mode = 0; mode < 3; ++mode) {
    ASSERT_EQ(found[mode].shape(), (Shape{3, 3, 3}));
    for (std::int64_t i = 0; i < 9; ++i) {
      const auto one_output = [&](const std::vector<Tensor>& point) {
        return values(feed(point))[0].to_vector<double>()[static_cast<std::size_t>(i)];
      };
      const std::vector<double> row = central_differences(one_output, at, 1e-5)[0];
      for (std::size_t j = 0; j < 3; ++j) {
        expect_close(found[mode].to_vector<double>()[static_cast<std::size_t>(i) * 3 + j], row[j],
                     1e-8, "mode " + std::to_string(mode));
      }
    }
  }
}

TEST(Jacobian, SymbolicShapesGiveOneGraphForAllSizes) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x0", DType::f64, {"n"}), w = graph.input("x1", DType::f64, {"m", "n"});
  const Var y = tanh(sum(w * x, {1}));
  const Var reverse = jacobian(y, x, JacobianMode::reverse),
            forward = jacobian(y, x, JacobianMode::forward);
  EXPECT_EQ(to_string(reverse.shape()), "[m, n]");
  EXPECT_EQ(to_string(forward.shape()), "[m, n]");
  const Executable run = session.compile({reverse, forward, y});
  for (const auto& [m, n] : {std::pair{2, 5}, {3, 1}, {1, 7}}) {
    const std::vector<Tensor> at = {random_values({n}, 1), random_values({m, n}, 2)};
    const Results found = run(feed(at));
    const auto weights = at[1].to_vector<double>(), ys = found[2].to_vector<double>();
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        const auto at_ij = static_cast<std::size_t>(i * n + j), at_i = static_cast<std::size_t>(i);
        const double expected = (1 - ys[at_i] * ys[at_i]) * weights[at_ij];
        EXPECT_NEAR(found[0].to_vector<double>()[at_ij], expected, 1e-12);
        EXPECT_NEAR(found[1].to_vector<double>()[at_ij], expected, 1e-12);
      }
    }
  }
}

TEST(Jacobian, ThroughAChainInBothModes) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {2});
  const Var y = chain({x}, {},
                      [](Var, const Vars& s, const Vars&) -> StepResult {
                        return {{s[0] * s[0]}, {s[0]}};
                      },
                      {.length = 3})
                    .ys[0];
  const Results found = session.compile(
      {jacobian(y, x, JacobianMode::reverse), jacobian(y, x, JacobianMode::forward)})(
      {{"x", Tensor::of<double>({2}, {0.5, 2})}});
  // ys are x, x^2, x^4.
  const std::vector<double> expected = {1, 0, 0, 1, 1, 0, 0, 4, 0.5, 0, 0, 32};
  EXPECT_EQ(found[0].shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(found[0].to_vector<double>(), expected);
  EXPECT_EQ(found[1].to_vector<double>(), expected);
}

TEST(Jacobian, HessianAsJacobianOfTheGradientIsSymmetric) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {3});
  const Var hessian = jacobian(grad(sum(exp(x) * sum(square(x))), x), x);
  const std::vector<double> h =
      session.compile({hessian})({{"x", random_values({3}, 1)}})[0].to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(h[i * 3 + j], h[j * 3 + i], 1e-12);
    }
  }
  EXPECT_NE(h[1], 0);
}

TEST(Jacobian, OfScalarsAndOfWhatDoesNotDepend) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {}), w = graph.input("w", DType::f64, {2});
  const Results found = session.compile({jacobian(x * x, x), jacobian(exp(w), x)})(
      {{"x", Tensor::scalar(3.0)}, {"w", Tensor::of<double>({2}, {1, 2})}});
  EXPECT_EQ(found[0].shape(), Shape{});
  EXPECT_EQ(found[0].item<double>(), 6);
  EXPECT_EQ(found[1].to_vector<double>(), (std::vector<double>{0, 0}));
}

TEST(Jacobian, InsideAChainBodyWithRespectToAnOuterValue) {
  for (const JacobianMode mode : {JacobianMode::reverse, JacobianMode::forward}) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", DType::f64, {2}), s = graph.input("s", DType::f64, {3});
    const Var all = chain({}, {s}, [&](Var, const Vars&, const Vars& slice) -> StepResult {
                      return {{}, {jacobian(x * x * slice[0], x, mode)}};
                    }).ys[0];
    const Results found = session.compile({all})(
        {{"x", Tensor::of<double>({2}, {3, 5})}, {"s", Tensor::of<double>({3}, {1, 2, 3})}});
    EXPECT_EQ(found[0].to_vector<double>(),
              (std::vector<double>{6, 0, 0, 10, 12, 0, 0, 20, 18, 0, 0, 30}));
  }
}

}  // namespace antichain::jacobian_test
