#include "antichain/nn/initialisers.h"

#include <gmock/gmock.h>

#include <cmath>

#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::initialisers_test {

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

TEST(Initialisers, VariancesFollowTheFans) {
  // In and out of a matrix, and of a convolution's weight [out, in, window].
  struct Expected {
    Initialiser initialiser;
    Dims shape;
    double variance;
  };
  for (const Expected& expected : {Expected{glorot_normal, {97, 211}, 2.0 / (97 + 211)},
                                   Expected{he_uniform, {97, 211}, 2.0 / 97},
                                   Expected{glorot_uniform, {40, 30, 3, 5}, 2.0 / (70 * 15)},
                                   Expected{glorot_normal, {40, 30, 3, 5}, 2.0 / (70 * 15)},
                                   Expected{he_uniform, {40, 30, 3, 5}, 2.0 / (30 * 15)},
                                   Expected{he_normal, {40, 30, 15}, 2.0 / (30 * 15)}}) {
    const Moments found = moments(draw(expected.initialiser, expected.shape));
    // At least 18,000 draws: five standard errors, the kurtosis being at most 3.
    EXPECT_NEAR(found.mean, 0, 5 * std::sqrt(expected.variance / 18'000));
    EXPECT_NEAR(found.variance, expected.variance, 0.055 * expected.variance);
  }
}

TEST(Initialisers, UniformAndNormalHaveTheMomentsAsked) {
  const std::vector<double> values = draw(uniform(-2, 4), {120, 150});
  EXPECT_THAT(values, testing::Each(testing::AllOf(testing::Ge(-2), testing::Lt(4))));
  EXPECT_NEAR(moments(values).mean, 1, 0.07);
  EXPECT_NEAR(moments(values).variance, 3, 0.1);
  const Moments found = moments(draw(normal(-1, 0.5), {120, 150}));
  EXPECT_NEAR(found.mean, -1, 0.02);
  EXPECT_NEAR(found.variance, 0.25, 0.015);
  EXPECT_THAT(draw(normal(3, 0), {2}), testing::Each(3));
}

// The greatest difference of the Gram matrix of the shorter side from the identity.
double distance_from_orthonormal(const std::vector<double>& values, std::size_t rows,
                                 std::size_t columns) {
  const bool wide = rows <= columns;
  const std::size_t count = wide ? rows : columns, length = wide ? columns : rows;
  const auto at = [&](std::size_t vector, std::size_t i) {
    return wide ? values[vector * columns + i] : values[i * columns + vector];
  };
  double worst = 0;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double product = a == b ? -1 : 0;
      for (std::size_t i = 0; i < length; ++i) {
        product += at(a, i) * at(b, i);
      }
      worst = std::max(worst, std::abs(product));
    }
  }
  return worst;
}

TEST(Initialisers, OrthogonalIs) {
  constexpr double kF32 = 1e-5, kF64 = 1e-13;
  EXPECT_LT(distance_from_orthonormal(draw(orthogonal, {64, 64}), 64, 64), kF32);
  EXPECT_LT(distance_from_orthonormal(draw(orthogonal, {31, 97}), 31, 97), kF32);
  EXPECT_LT(distance_from_orthonormal(draw(orthogonal, {97, 31}, f64), 97, 31), kF64);
  EXPECT_LT(distance_from_orthonormal(draw(orthogonal, {8, 3, 3, 3}), 8, 27), kF32);
  EXPECT_EQ(std::abs(draw(orthogonal, {1, 1}, f64)[0]), 1);
  // Every direction is as likely as any other: elements have mean 0 and variance 1 / length.
  const Moments found = moments(draw(orthogonal, {31, 97}));
  EXPECT_NEAR(found.mean, 0, 5 * std::sqrt(1.0 / 97 / (31 * 97)));
  EXPECT_NEAR(found.variance, 1.0 / 97, 1e-3 / 97);
}

// Every unit of the layer reaches `height` at one corner of the box, and its hyperplane passes
// through the box.
TEST(Initialisers, BoxUnitsReachTheirHeightInTheBox) {
  constexpr int kIn = 7, kOut = 50;
  constexpr double kSide = 1.5, kHeight = 0.25;
  Session session;
  Graph graph = session.graph();
  const BoxOptions options{.side = kSide, .height = kHeight};
  const Var weight = box(options)(graph, f64, {kIn, kOut});
  const Results found = session.compile({weight, box_bias(options)(weight)})({});
  const std::vector<double> w = found[0].to_vector<double>(), b = found[1].to_vector<double>();
  ASSERT_EQ(b.size(), std::size_t{kOut});
  for (std::size_t unit = 0; unit < b.size(); ++unit) {
    double most = b[unit], least = b[unit];
    for (std::size_t i = 0; i < kIn; ++i) {
      const double slope = w[i * kOut + unit];
      (slope > 0 ? most : least) += kSide * slope;
    }
    EXPECT_NEAR(most, kHeight, 1e-13);
    EXPECT_LT(least, 0);
  }
}

TEST(Initialisers, RefuseWhatIsNoDistribution) {
  expect_error<InvalidArgument>("uniform: low must be below high, got 1 and 1",
                                [] { uniform(1, 1); });
  expect_error<InvalidArgument>(
      "normal: needs a mean and a standard deviation that is not negative, got 0 and -1",
      [] { normal(0, -1); });
  expect_error<InvalidArgument>("box: side and height must be above 0, got 0 and 1",
                                [] { box({.side = 0}); });
  expect_error<InvalidArgument>("box: side and height must be above 0, got 1 and -2",
                                [] { box_bias({.height = -2}); });
}

TEST(Initialisers, ConstantSetsEveryElement) {
  EXPECT_THAT(draw(constant(0.25), {2, 3}), testing::Each(0.25));
  EXPECT_EQ(draw(constant(-1), {}).size(), 1U);
}

TEST(Initialisers, SameSeedSameValues) {
  EXPECT_EQ(draw(he_normal, {5, 7}, f32, 3), draw(he_normal, {5, 7}, f32, 3));
  EXPECT_NE(draw(he_normal, {5, 7}, f32, 3), draw(he_normal, {5, 7}, f32, 4));
}

TEST(Initialisers, WeightsHaveAKnownSize) {
  Graph graph;
  expect_error<ShapeError>(
      "glorot_uniform: needs the shape of a weight, [in, out] or [out, in, spatial...] with known "
      "sizes, got [3]",
      [&] { glorot_uniform(graph, f32, {3}); });
  expect_error<ShapeError>(
      "he_normal: needs the shape of a weight, [in, out] or [out, in, spatial...] with known "
      "sizes, "
      "got [n, 2]",
      [&] {
        he_normal(graph, f32, {graph.dim("n"), 2});
      });
  expect_error<ShapeError>("box: needs the shape of a weight, [in, out], got [2, 3, 4]", [&] {
    box()(graph, f32, {2, 3, 4});
  });
}

}  // namespace antichain::nn::initialisers_test
