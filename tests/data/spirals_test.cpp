#include "antichain/data/spirals.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "tests/tensor/expect_error.h"

namespace antichain::data::spirals_test {

TEST(Spirals, SameOptionsGiveTheSameBits) {
  const Batch a = spirals({.points = 101, .seed = 5})->tensors();
  const Batch b = spirals({.points = 101, .seed = 5})->tensors();
  EXPECT_TRUE(bit_equal(a.at("x"), b.at("x")));
  EXPECT_TRUE(bit_equal(a.at("y"), b.at("y")));
  EXPECT_FALSE(bit_equal(a.at("x"), spirals({.points = 101, .seed = 6})->tensors().at("x")));
  EXPECT_FALSE(
      bit_equal(a.at("x"), spirals({.points = 101, .seed = 5, .stream = 1})->tensors().at("x")));
}

TEST(Spirals, ArmsAreEvenAndTurnedCopiesOfEachOther) {
  constexpr std::int64_t kArms = 3, kPoints = 300;
  const Batch points = spirals({.arms = kArms, .noise = 0, .points = kPoints})->tensors();
  const std::vector<double> x = points.at("x").to_vector<double>();
  std::vector<std::int64_t> counts(kArms);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::int64_t arm = points.at("y").data<std::int64_t>()[i];
    ++counts[static_cast<std::size_t>(arm)];
    // Without noise the radius, from 0.1 to 1, tells the angle: 1.25 turns in all.
    const double radius = std::hypot(x[2 * i], x[2 * i + 1]);
    const double turns = 1.25 * (radius - 0.1) / 0.9 + static_cast<double>(arm) / kArms;
    EXPECT_NEAR(x[2 * i], radius * std::cos(2 * std::numbers::pi * turns), 1e-5);
    EXPECT_NEAR(x[2 * i + 1], radius * std::sin(2 * std::numbers::pi * turns), 1e-5);
  }
  EXPECT_THAT(counts, testing::Each(kPoints / kArms));
}

TEST(Spirals, NoiseHasTheGivenDeviation) {
  constexpr std::int64_t kPoints = 4000;
  constexpr double kNoise = 0.3;
  const auto clean =
      spirals({.noise = 0, .points = kPoints})->tensors().at("x").to_vector<double>();
  const auto noisy =
      spirals({.noise = kNoise, .points = kPoints})->tensors().at("x").to_vector<double>();
  double squares = 0;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    squares += (noisy[i] - clean[i]) * (noisy[i] - clean[i]);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(clean.size()));
  EXPECT_NEAR(deviation, kNoise, 5 * kNoise / std::sqrt(2.0 * 2 * kPoints));  // 5 standard errors
}

TEST(Spirals, RefusesNonsense) {
  expect_error<InvalidArgument>(
      "spirals need at least one arm, no negative number of points and no negative noise, got 0, "
      "1000 and 0.02",
      [] { spirals({.arms = 0}); });
  EXPECT_EQ(spirals({.points = 0})->size(), 0);
}

}  // namespace antichain::data::spirals_test
