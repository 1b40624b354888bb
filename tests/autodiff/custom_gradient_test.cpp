#include <fmt/format.h>
#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "tests/autodiff/finite_difference.h"
#include "tests/tensor/expect_error.h"

namespace antichain::custom_gradient_test {

using Doubles = std::vector<double>;

class CustomGradient : public testing::Test {
 protected:
  Doubles values(Var var) {
    return session.compile({var})({{"x", Tensor::of<double>({3}, {0.5, 1, 2})}})[0]
        .to_vector<double>();
  }

  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", DType::f64, {3});
};

// Computes x^2 and claims that the slope is x^3.
Var liar(Var x) {
  return custom_gradient(
      {x}, [](const Vars& in) { return Vars{square(in[0])}; },
      [](const Vars& in, const Vars& g) { return Vars{g[0] * in[0] * in[0] * in[0]}; })[0];
}

TEST_F(CustomGradient, IsUsedAsGiven) {
  EXPECT_EQ(values(liar(x)), (Doubles{0.25, 1, 4}));
  EXPECT_EQ(values(grad(liar(x) * 2, x)), (Doubles{0.25, 2, 16}));
  EXPECT_EQ(values(jvp({liar(x) * 2}, {x}, {ones_like(x)})[0]), (Doubles{0.25, 2, 16}));
}

TEST_F(CustomGradient, SecondDerivativeGoesThroughTheBackwardFunction) {
  EXPECT_EQ(values(grad(grad(liar(x), x), x)), (Doubles{0.75, 3, 12}));
}

TEST_F(CustomGradient, InsideAChain) {
  const Var y =
      chain({x}, {}, [](Var, const Vars& s, const Vars&) -> StepResult { return {{liar(s[0])}}; },
            {.length = 2})
          .last[0];
  // d/dx of liar(liar(x)): (x^2)^3 * x^3 = x^9.
  EXPECT_EQ(values(grad(y, x)), (Doubles{std::pow(0.5, 9), 1, 512}));
}

TEST_F(CustomGradient, CapturesOfBothFunctionsAreConstants) {
  const Var scale = graph.input("scale", DType::f64, {}), shift = x + 1;
  const Var y = custom_gradient(
      {x}, [&](const Vars& in) { return Vars{in[0] * scale + shift}; },
      [&](const Vars&, const Vars& g) { return Vars{g[0] * scale * shift}; })[0];
  const Executable run = session.compile({y, grad(y, x)});
  const Results found =
      run({{"x", Tensor::of<double>({3}, {0.5, 1, 2})}, {"scale", Tensor::scalar(10.0)}});
  EXPECT_EQ(found[0].to_vector<double>(), (Doubles{6.5, 12, 23}));
  EXPECT_EQ(found[1].to_vector<double>(), (Doubles{15, 20, 30}));
}

TEST_F(CustomGradient, SeveralInputsAndOutputs) {
  const auto build = [](Graph&, const Vars& in) {
    const Vars y = custom_gradient(
        {in[0], in[1]},
        [](const Vars& v) {
          return Vars{v[0] * v[1], sin(v[0])};
        },
        [](const Vars& v, const Vars& g) {
          return Vars{g[0] * v[1] + g[1] * cos(v[0]), g[0] * v[0]};
        });
    return y[0] * y[1];
  };
  expect_gradients(build, {random_values({3}, 1), random_values({3}, 2)});
}

TEST_F(CustomGradient, HookClips) {
  const Var y = gradient_hook(x, [](Var g) { return clip(g, -1, 1); });
  EXPECT_EQ(values(y), (Doubles{0.5, 1, 2}));
  EXPECT_EQ(values(grad(y * y, x)), (Doubles{1, 1, 1}));
}

TEST_F(CustomGradient, HookTakesTheSign) {
  const Var y = gradient_hook(x, [](Var g) { return sign(g); });
  EXPECT_EQ(values(grad(y * y * -3, x)), (Doubles{-1, -1, -1}));
}

TEST_F(CustomGradient, HookInsideAChainActsAtEveryStep) {
  const Var y = chain({x}, {},
                      [](Var, const Vars& s, const Vars&) -> StepResult {
                        return {{gradient_hook(s[0], [](Var g) { return g * 0.5; }) * 3}};
                      },
                      {.length = 2})
                    .last[0];
  EXPECT_EQ(values(grad(y, x)), (Doubles{2.25, 2.25, 2.25}));
}

TEST_F(CustomGradient, ErrorsNameWhatIsWrong) {
  const auto line = __LINE__ + 3;
  const auto with = [&](const std::function<Vars(const Vars&, const Vars&)>& backward) {
    return [this, backward] {
      custom_gradient(
          {x}, [](const Vars& in) { return in; }, backward);
    };
  };
  const std::string at = fmt::format(" (at custom_gradient_test.cpp:{})", line);
  expect_error<InvalidArgument>(
      "custom_gradient: the backward function returns 0 gradients for 1 inputs" + at,
      with([](const Vars&, const Vars&) { return Vars{}; }));
  expect_error<TypeError>(
      "custom_gradient: gradient 0 is f32, its input f64" + at,
      with([](const Vars&, const Vars& g) { return Vars{cast(g[0], DType::f32)}; }));
  expect_error<ShapeError>(
      "custom_gradient: shapes of an input and its gradient have different ranks: [3] and []" + at,
      with([](const Vars&, const Vars& g) { return Vars{sum(g[0])}; }));
  expect_error<InvalidArgument>("custom_gradient: needs at least one input", [] {
    custom_gradient(
        {}, [](const Vars& in) { return in; }, [](const Vars& in, const Vars&) { return in; });
  });
}

}  // namespace antichain::custom_gradient_test
