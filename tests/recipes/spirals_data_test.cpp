#include "recipes/spirals_data.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

namespace antichain {
namespace {

TEST(SpiralsData, SameOptionsGiveTheSameBits) {
  const LabelledPoints a = make_spirals({.points = 101, .seed = 5});
  const LabelledPoints b = make_spirals({.points = 101, .seed = 5});
  EXPECT_TRUE(bit_equal(a.x, b.x));
  EXPECT_TRUE(bit_equal(a.y, b.y));
  EXPECT_FALSE(bit_equal(a.x, make_spirals({.points = 101, .seed = 6}).x));
  EXPECT_FALSE(bit_equal(a.x, make_spirals({.points = 101, .seed = 5, .stream = 1}).x));
}

TEST(SpiralsData, ArmsAreEvenAndTurnedCopiesOfEachOther) {
  constexpr std::int64_t kArms = 3, kPoints = 300;
  const LabelledPoints points = make_spirals({.arms = kArms, .noise = 0, .points = kPoints});
  const std::vector<double> x = points.x.to_vector<double>();
  std::vector<std::int64_t> counts(kArms);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::int64_t arm = points.y.data<std::int64_t>()[i];
    ++counts[static_cast<std::size_t>(arm)];
    // Without noise the radius, from 0.1 to 1, tells the angle: 1.25 turns in all.
    const double radius = std::hypot(x[2 * i], x[2 * i + 1]);
    const double turns = 1.25 * (radius - 0.1) / 0.9 + static_cast<double>(arm) / kArms;
    EXPECT_NEAR(x[2 * i], radius * std::cos(2 * std::numbers::pi * turns), 1e-5);
    EXPECT_NEAR(x[2 * i + 1], radius * std::sin(2 * std::numbers::pi * turns), 1e-5);
  }
  EXPECT_THAT(counts, testing::Each(kPoints / kArms));
}

TEST(SpiralsData, NoiseHasTheGivenDeviation) {
  constexpr std::int64_t kPoints = 4000;
  constexpr double kNoise = 0.3;
  const auto clean = make_spirals({.noise = 0, .points = kPoints}).x.to_vector<double>();
  const auto noisy = make_spirals({.noise = kNoise, .points = kPoints}).x.to_vector<double>();
  double squares = 0;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    squares += (noisy[i] - clean[i]) * (noisy[i] - clean[i]);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(clean.size()));
  EXPECT_NEAR(deviation, kNoise, 5 * kNoise / std::sqrt(2.0 * 2 * kPoints));  // 5 standard errors
}

TEST(SpiralsData, TakeCopiesRows) {
  const LabelledPoints points = make_spirals({.points = 7});
  const std::vector<std::int64_t> numbers = {6, 0, 6};
  const LabelledPoints taken = points.take(numbers);
  ASSERT_EQ(taken.size(), 3);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t from = numbers[static_cast<std::size_t>(i)];
    EXPECT_TRUE(bit_equal(taken.x.select(0, i).clone(), points.x.select(0, from).clone()));
    EXPECT_EQ(taken.y.data<std::int64_t>()[i], points.y.data<std::int64_t>()[from]);
  }
}

TEST(SpiralsData, ShuffledIsAnOrderOfItsOwnPerStream) {
  std::vector<std::int64_t> order = shuffled(100, 1, 1);
  EXPECT_EQ(order, shuffled(100, 1, 1));
  EXPECT_NE(order, shuffled(100, 1, 2));
  EXPECT_NE(order, shuffled(100, 2, 1));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
  EXPECT_TRUE(shuffled(0, 1, 1).empty());
}

}  // namespace
}  // namespace antichain
