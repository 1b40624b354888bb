// Derivatives of derivatives.
#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/products/matmul.h"
#include "tests/autodiff/cells.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain::higher_order_test {

Var gru_energy(const Vars& in) {
  const Chain result =
      chain(in[0], in[1], [&](Var h, Var x) { return gru_cell(h, x, in[2], in[3], 2); });
  return sum(square(result.all));
}

std::vector<Tensor> gru_point() {
  return {random_values({1, 2}, 1), random_values({3, 1, 2}, 2), random_values({2, 6}, 3),
          random_values({2, 6}, 4)};
}

TEST(HigherOrder, ThirdDerivativeThroughAChain) {
  const auto build = [](Graph&, const Vars& in) {
    const Var y = chain(in[0], in[1], [&](Var s, Var x) { return sin(s * in[2]) + s * x; }).last;
    const Var first = grad(sum(y), in[0]);
    return grad(sum(square(first)), in[2]);
  };
  expect_gradients(build, {random_values({2}, 1), random_values({3, 2}, 2), random_values({2}, 3)},
                   {.tolerance = 1e-6});
}

TEST(HigherOrder, ThirdDerivativeOfAPowerByRepeatedMultiplication) {
  // y = x^5 as a chain, y''' = 60 x^2.
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {});
  const Var one = ones_like(x);
  const Var y =
      chain({one}, {}, [&](Var, const Vars& s, const Vars&) -> StepResult { return {{s[0] * x}}; },
            {.length = 5})
          .last[0];
  const Var third = grad(grad(grad(y, x), x), x);
  const Var mixed = jvp({jvp({grad(y, x)}, {x}, {one})[0]}, {x}, {one})[0];
  const Results found = session.compile({third, mixed})({{"x", Tensor::scalar(1.5)}});
  EXPECT_NEAR(found[0].item<double>(), 60 * 1.5 * 1.5, 1e-10);
  EXPECT_NEAR(found[1].item<double>(), 60 * 1.5 * 1.5, 1e-10);
}

TEST(HigherOrder, GradientPenaltyOfACritic) {
  // Gulrajani et al. (2017): (|d critic / d x| - 1)^2, differentiated by the weights.
  const auto build = [](Graph&, const Vars& in) {
    const Var hidden = tanh(matmul(in[0], in[1]) + in[2]);
    const Var score = matmul(hidden, in[3]);
    const Var slope = grad(sum(score), in[0]);
    return mean(square(sqrt(sum(square(slope), {1})) - 1));
  };
  expect_gradients(build, {random_values({5, 3}, 1), random_values({3, 7}, 2),
                           random_values({7}, 3), random_values({7, 1}, 4)});
}

TEST(HigherOrder, GradientPenaltyOfARecurrentCritic) {
  const auto build = [](Graph&, const Vars& in) {
    const Var slope = grad(gru_energy(in), in[1]);
    return mean(square(sqrt(sum(square(slope), {1, 2})) - 1));
  };
  expect_gradients(build, gru_point(), {.tolerance = 1e-6});
}

TEST(HigherOrder, HessianVectorProductThroughAGru) {
  const std::vector<Tensor> at = gru_point();
  const Tensor direction = random_values({2, 6}, 9);
  Session session;
  Graph graph = session.graph();
  const Vars in = inputs_like(graph, at);
  const Var v = constant(graph, direction), y = gru_energy(in);
  const Var product = hessian_vector_product(y, in[3], v);
  const Var by_reverse = grad(sum(grad(y, in[3]) * v), in[3]);
  const Executable gradient = session.compile({grad(y, in[3])});
  const Results found = session.compile({product, by_reverse})(feed(at));
  constexpr double kStep = 1e-5;
  const auto moved = [&](double by) {
    std::vector<Tensor> point = at;
    point[3] = at[3].clone();
    for (std::int64_t i = 0; i < point[3].numel(); ++i) {
      point[3].data<double>()[i] += by * direction.data<double>()[i];
    }
    return gradient(feed(point))[0].to_vector<double>();
  };
  const std::vector<double> up = moved(kStep), down = moved(-kStep);
  for (std::size_t i = 0; i < up.size(); ++i) {
    const double expected = (up[i] - down[i]) / (2 * kStep);
    expect_close(found[0].to_vector<double>()[i], expected, 1e-7, "forward over reverse");
    expect_close(found[1].to_vector<double>()[i], expected, 1e-7, "reverse over reverse");
  }
}

TEST(HigherOrder, MetaGradientOfUnrolledGradientDescent) {
  // The inner loss depends on the target in[1]; the steps are chain steps with a grad() inside. The
  // derivative by learning rate, target and start goes through all of them.
  const auto build = [](Graph&, const Vars& in) {
    const auto inner_step = [&](Var, const Vars& w, const Vars&) -> StepResult {
      const Var loss = sum(square(sin(w[0]) - in[1]));
      return {{w[0] - in[2] * grad(loss, w[0])}, {loss}};
    };
    const ChainResult trained = chain({in[0]}, {}, inner_step, {.length = 4});
    return sum(trained.ys[0]) + sum(cos(trained.last[0]));
  };
  expect_gradients(build, {random_values({3}, 1), random_values({3}, 2), Tensor::scalar(0.1)});
}

TEST(HigherOrder, GradientInsideALoopAndACond) {
  const auto build = [](Graph& graph, const Vars& in) {
    const LoopResult found = loop(
        {in[0]}, [](const Vars& s) { return greater(sum(square(s[0])), 0.5); },
        [](const Vars& s) { return Vars{s[0] - 0.2 * grad(sum(square(s[0])), s[0])}; });
    const Vars chosen = cond(
        less(sum(in[1]), 100), [&] { return Vars{grad(sum(sin(in[1]) * found.last[0]), in[1])}; },
        [&] { return Vars{zeros(graph, DType::f64, {3})}; });
    return chosen[0] * found.last[0];
  };
  expect_gradients(build, {random_values({3}, 1, 1, 2), random_values({3}, 2)});
}

TEST(HigherOrder, SecondDerivativeOfANewtonLoop) {
  // y = sqrt(x), y'' = -1/4 x^(-3/2).
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {});
  const auto close = [&](const Vars& s) { return greater(abs(s[0] * s[0] - x), 1e-9); };
  const Var y =
      loop({x}, close, [&](const Vars& s) { return Vars{(s[0] + x / s[0]) * 0.5}; }).last[0];
  // One more step after the loop: convergence of the second derivative needs it.
  const Var polished = (y + x / y) * 0.5, once_more = (polished + x / polished) * 0.5;
  const Var second = grad(grad(once_more, x), x);
  EXPECT_NEAR(session.compile({second})({{"x", Tensor::scalar(2.0)}}).item<double>(),
              -0.25 * std::pow(2.0, -1.5), 1e-9);
}

}  // namespace antichain::higher_order_test
