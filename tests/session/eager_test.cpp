#include "antichain/session/eager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/tensor/expect_error.h"

namespace antichain::eager_test {

class EagerTest : public testing::Test {
 protected:
  Session session;
  Eager eager{session};
};

TEST_F(EagerTest, ComputesAtOnce) {
  const Var x = eager(Tensor::of<double>({3}, {1, 2, 3}));
  EXPECT_EQ(sum(square(x)).item<double>(), 14);
  EXPECT_EQ((x + 1).value().to_vector<double>(), (std::vector<double>{2, 3, 4}));
}

TEST_F(EagerTest, GradientsToAnyOrder) {
  const Var x = eager(Tensor::scalar(0.7));
  const Var first = grad(sin(x) * x, x);
  EXPECT_NEAR(first.item<double>(), std::cos(0.7) * 0.7 + std::sin(0.7), 1e-14);
  EXPECT_NEAR(grad(first, x).item<double>(), 2 * std::cos(0.7) - 0.7 * std::sin(0.7), 1e-14);
}

TEST_F(EagerTest, EqualTensorsAreDifferentVariables) {
  const Var a = eager(Tensor::scalar(2.0)), b = eager(Tensor::scalar(2.0));
  EXPECT_EQ(grad(a * b * b, a).item<double>(), 4);
  EXPECT_EQ(grad(a * b * b, b).item<double>(), 8);
}

// Parts of a model have engines in eager mode as they do in a graph that is compiled.
TEST_F(EagerTest, EnginesForPartsOfAModel) {
  Graph& graph = eager.graph();
  graph.choose_engines(EnginePlan::parse("encoder=scan:forward=newton, head=forward"));
  const Var h = eager(Tensor::of<double>({2}, {0.3, -0.2}));
  const Var xs = eager(Tensor::of<double>({3, 2}, {0.1, 0.5, -0.4, 0.2, 0.7, -0.6}));
  const auto cell = [](Var s, Var x) { return sin(s + x); };
  Var last, out;
  {
    const ScopeGuard scope(graph, "encoder");
    last = chain(h, xs, cell).last;
  }
  {
    const ScopeGuard scope(graph, "head");
    out = sum(square(last) * last);
  }
  const Var slope = grad(out, h);
  EXPECT_EQ(engine_choice(last.producer()).str(), "scan:forward=newton");
  bool by_forward = false;
  for (std::uint32_t i = 0; i < graph.num_ops(); ++i) {
    by_forward |= engine_choice(graph.op(OpId{i})).name() == "forward";
  }
  EXPECT_TRUE(by_forward);
  EXPECT_EQ(session.states().names(kReportPrefix).size(), 2U);  // of Newton's method

  Eager plain(session);
  const Var from = plain(h.value()), through = plain(xs.value());
  const Var end = chain(from, through, cell).last;
  EXPECT_THAT(slope.value().to_vector<double>(),
              testing::Pointwise(testing::DoubleNear(1e-12),
                                 grad(sum(square(end) * end), from).value().to_vector<double>()));
}

// Newton's iteration for a matrix inverse; the number of steps depends on the values.
TEST_F(EagerTest, NewtonsIterationForAnInverse) {
  const Var a = eager(Tensor::of<double>({2, 2}, {4, 1, 2, 3}));
  const Var eye = eager(Tensor::of<double>({2, 2}, {1, 0, 0, 1}));
  Var inverse = transpose(a) / (sum(square(a)));
  int steps = 0;
  while (max(abs(matmul(a, inverse) - eye)).item<double>() > 1e-12) {
    inverse = matmul(inverse, 2 * eye - matmul(a, inverse));
    ASSERT_LT(++steps, 50);
  }
  const std::vector<double> want = {0.3, -0.1, -0.2, 0.4};
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(inverse.value().to_vector<double>()[i], want[i], 1e-12);
  }
}

TEST_F(EagerTest, ChainsLoopsAndSizesFoundByARun) {
  const Var h = eager(Tensor::zeros(f64, {2})), xs = eager(Tensor::full(f64, {3, 2}, 0.5));
  EXPECT_NEAR(sum(chain(h, xs, [](Var s, Var x) { return s + x; }).last).item<double>(), 3, 1e-15);
  const Var values = eager(Tensor::of<double>({5}, {0, 3, 0, 4, 0}));
  const Var found = nonzero(values);
  EXPECT_EQ(found.shape(), (Dims{2, 1}));
  EXPECT_EQ(sum(gather(values, found.reshape({2}))).item<double>(), 7);
}

TEST_F(EagerTest, StateAndRandomNumbers) {
  parameter("w", full(eager.graph(), f32, {2}, 3));
  add_update(eager.graph(), "w", full(eager.graph(), f32, {2}, 1));
  EXPECT_EQ(read_state(eager.graph(), "w").value().to_vector<float>(), (std::vector<float>{4, 4}));
  const Var a = random_uniform(eager.graph(), f32, {4}),
            b = random_uniform(eager.graph(), f32, {4});
  EXPECT_FALSE(bit_equal(a.value(), b.value()));
}

TEST_F(EagerTest, MistakesAreReportedAtOnceAndLoseNothing) {
  const Var x = eager(Tensor::of<double>({2}, {1, 2}));
  const Var bad = eager(Tensor::of<std::int64_t>({1}, {5}));
  EXPECT_THROW(gather(x, bad), DataError);
  EXPECT_THROW(x + eager(Tensor::zeros(f64, {3})), ShapeError);
  EXPECT_EQ(sum(x).item<double>(), 3);
  EXPECT_THROW(gather(x, bad), DataError) << "a failed op must fail again";
}

TEST(EagerLifetime, OutlivesItsSession) {
  std::optional<Session> session(std::in_place);
  Eager eager(*session);
  const Var x = eager(Tensor::of<double>({2}, {1, 2}));
  session.reset();
  EXPECT_EQ(x.value().to_vector<double>(), (std::vector<double>{1, 2}));
  try {
    static_cast<void>(x + 1);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("the session of this eager mode is gone; keep it for as long as "
                                   "anything is computed"));
  }
}

TEST(EagerLifetime, ValuesAreGoneWithIt) {
  Session session;
  const Var x = Eager(session)(Tensor::of<double>({2}, {1, 2}));
  expect_error<InvalidArgument>(
      "this value is of a graph that is gone; keep the Graph for as long as its values",
      [&] { static_cast<void>(x.value()); });
}

TEST(Record, TheSameFunctionEagerAndCompiled) {
  Session session;
  const auto function = [](const std::vector<Var>& in) {
    return std::vector<Var>{sum(tanh(in[0]) * in[1], {1}), grad(sum(square(in[0])), in[0])};
  };
  const Executable compiled = record(session, {{"x", f64, {"n", 3}}, {"w", f64, {3}}}, function);
  for (std::int64_t n : {1, 4}) {
    const Tensor x = Tensor::full(f64, {n, 3}, 0.3), w = Tensor::of<double>({3}, {1, 2, 3});
    Eager eager(session);
    const std::vector<Var> now = function({eager(x), eager(w)});
    const Results later = compiled({{"x", x}, {"w", w}});
    EXPECT_TRUE(bit_equal(now[0].value(), later[0]));
    EXPECT_TRUE(bit_equal(now[1].value(), later[1]));
  }
}

TEST(Record, FunctionsThatLookAtValuesCannotBeRecorded) {
  Session session;
  expect_error<InvalidArgument>(
      "x has no value while the graph is built; compile it, or compute it in eager mode", [&] {
        record(session, {{"x", f64, {}}}, [](const std::vector<Var>& in) {
          return std::vector<Var>{in[0].item<double>() > 0 ? in[0] : -in[0]};
        });
      });
}

}  // namespace antichain::eager_test
