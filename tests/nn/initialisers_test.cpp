#include "antichain/nn/initialisers.h"

#include <gmock/gmock.h>

#include <cmath>

#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn {
namespace {

std::vector<double> draw(const Initialiser& initialiser, const Dims& shape, DType dtype = f32,
                         std::int64_t seed = 0) {
  Session session({.seed = seed});
  Graph graph = session.graph();
  const Var value = initialiser(graph, dtype, shape);
  EXPECT_EQ(value.dtype(), dtype);
  EXPECT_EQ(value.shape(), shape);
  return session.compile({value})({})[0].to_vector<double>();
}

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (double value : values) {
    result.mean += value / count;
  }
  for (double value : values) {
    result.variance += (value - result.mean) * (value - result.mean) / count;
  }
  return result;
}

TEST(Initialisers, GlorotUniformFillsItsRange) {
  constexpr int kIn = 97, kOut = 211;
  const double limit = std::sqrt(6.0 / (kIn + kOut));
  const std::vector<double> values = draw(glorot_uniform, {kIn, kOut});
  EXPECT_THAT(values, testing::Each(testing::AllOf(testing::Ge(-limit), testing::Le(limit))));
  const Moments found = moments(values);
  // 20,467 draws: five standard errors of mean and variance (kurtosis 1.8) are about 3 %.
  EXPECT_NEAR(found.mean, 0, 0.03 * limit);
  EXPECT_NEAR(found.variance, 2.0 / (kIn + kOut), 0.035 * 2.0 / (kIn + kOut));
}

TEST(Initialisers, HeNormalHasVarianceTwoOverIn) {
  constexpr int kIn = 97, kOut = 211;
  for (DType dtype : {f32, f64}) {
    const Moments found = moments(draw(he_normal, {kIn, kOut}, dtype));
    EXPECT_NEAR(found.mean, 0, 5 * std::sqrt(2.0 / kIn / (kIn * kOut)));
    EXPECT_NEAR(found.variance, 2.0 / kIn, 0.05 * 2.0 / kIn);  // five standard errors
  }
}

TEST(Initialisers, ConstantSetsEveryElement) {
  EXPECT_THAT(draw(constant(0.25), {2, 3}), testing::Each(0.25));
  EXPECT_EQ(draw(constant(-1), {}).size(), 1U);
}

TEST(Initialisers, SameSeedSameValues) {
  EXPECT_EQ(draw(he_normal, {5, 7}, f32, 3), draw(he_normal, {5, 7}, f32, 3));
  EXPECT_NE(draw(he_normal, {5, 7}, f32, 3), draw(he_normal, {5, 7}, f32, 4));
}

TEST(Initialisers, WeightsMustBeMatricesOfKnownSize) {
  Graph graph;
  expect_error<ShapeError>(
      "glorot_uniform: needs the shape of a weight, [in, out] with known sizes, got [3]",
      [&] { glorot_uniform(graph, f32, {3}); });
  expect_error<ShapeError>(
      "he_normal: needs the shape of a weight, [in, out] with known sizes, got [n, 2]", [&] {
        he_normal(graph, f32, {graph.dim("n"), 2});
      });
}

}  // namespace
}  // namespace antichain::nn
