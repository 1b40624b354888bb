// grad() and jvp() inside bodies, with respect to values outside of them.
#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain::regions_test {

using Doubles = std::vector<double>;

class GradInsideBody : public testing::Test {
 protected:
  // Runs what `body` builds from the slices 1, 2, 3.
  Doubles run_steps(const std::function<Var(Var slice)>& body) {
    const Var slices = constant(graph, Tensor::of<double>({3}, {1, 2, 3}));
    const Var all = chain({}, {slices}, [&](Var, const Vars&, const Vars& xs) -> StepResult {
                      return {{}, {body(xs[0])}};
                    }).ys[0];
    return session.compile({all})({{"w", Tensor::scalar(5.0)}})[0].to_vector<double>();
  }

  Session session;
  Graph graph = session.graph();
  Var w = graph.input("w", DType::f64, {});
};

TEST_F(GradInsideBody, OfACapturedValue) {
  EXPECT_EQ(run_steps([&](Var x) { return grad(w * w * x, w); }), (Doubles{10, 20, 30}));
  EXPECT_EQ(run_steps([&](Var x) { return jvp({w * w * x}, {w}, {ones_like(w)})[0]; }),
            (Doubles{10, 20, 30}));
}

TEST_F(GradInsideBody, ThroughAValueComputedOutside) {
  const Var h = w * w;  // outside; the body sees it as a capture
  EXPECT_EQ(run_steps([&](Var x) { return grad(h * x, w); }), (Doubles{10, 20, 30}));
  EXPECT_EQ(run_steps([&](Var x) { return grad(h * x * w, w); }), (Doubles{75, 150, 225}));
  EXPECT_EQ(run_steps([&](Var x) { return grad(h * x * w, {h, w})[0]; }), (Doubles{5, 10, 15}));
  EXPECT_EQ(run_steps([&](Var x) { return jvp({h * x * w}, {w}, {ones_like(w)})[0]; }),
            (Doubles{75, 150, 225}));
}

TEST_F(GradInsideBody, OfAValueThatIsWhollyOutside) {
  const Var y = w * w;
  EXPECT_EQ(run_steps([&](Var x) { return grad(y, w) * x; }), (Doubles{10, 20, 30}));
  EXPECT_EQ(run_steps([&](Var x) { return jvp({y}, {w}, {x})[0]; }), (Doubles{10, 20, 30}));
}

TEST_F(GradInsideBody, TwoLevelsDown) {
  const Var h = w * w;
  const auto inner = [&](bool forward) {
    return [&, forward](Var x) {
      const Var k = h * x;  // between the levels
      return call(graph, [&] {
        const Var y = k * k * w;  // w^5 x^2
        return Vars{forward ? jvp({y}, {w}, {ones_like(w)})[0] : grad(y, w)};
      })[0];
    };
  };
  EXPECT_EQ(run_steps(inner(false)), (Doubles{3125, 12500, 28125}));
  EXPECT_EQ(run_steps(inner(true)), (Doubles{3125, 12500, 28125}));
}

TEST_F(GradInsideBody, ByAnEngine) {
  const Var h = w * w;
  const GradOptions forward{.engine = "forward"};
  EXPECT_EQ(run_steps([&](Var x) { return grad(w * w * x, w, forward); }), (Doubles{10, 20, 30}));
  EXPECT_EQ(run_steps([&](Var x) { return grad(h * x * w, w, forward); }), (Doubles{75, 150, 225}));
}

TEST_F(GradInsideBody, SaysWhatIsInTheWay) {
  const Var stopped = stop_gradient(w);
  run_steps([&](Var x) {
    const Var y = stopped * x;
    try {
      grad(y, w);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(std::string(error.what()),
                y.name() + " has no gradient with respect to w: " + stopped.producer().describe() +
                    " carries no gradient: it is there to stop the gradient");
    }
    return x;
  });
}

}  // namespace antichain::regions_test
