#include "antichain/data/synthetic.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/tensor/expect_error.h"

namespace antichain::data::synthetic_test {

using Numbers = std::vector<std::int64_t>;

Numbers labels(const Batch& batch) { return batch.at("y").to_vector<std::int64_t>(); }

TEST(Peaks, ClassesAreBandsOfEqualHeight) {
  const Splits splits = peaks();
  EXPECT_EQ(splits.num_classes, 5);
  EXPECT_EQ(splits.train->size(), 5000);
  EXPECT_EQ(splits.validation->size(), 200);
  EXPECT_EQ(splits.test, nullptr);
  // The range of the function as published, -6.5497 to 8.1054, and its definition by partial sums.
  const double lowest = -6.5497, band_height = (8.1054 - lowest) / 5;
  std::set<std::pair<double, double>> seen;
  for (const DatasetPtr& part : {splits.train, splits.validation}) {
    const Batch all = take_all(*part);
    const auto x = all.at("x").to_vector<double>();
    const Numbers y = labels(all);
    std::map<std::int64_t, int> counts;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double a = x[2 * i], b = x[2 * i + 1];
      ++counts[y[i]];
      EXPECT_TRUE(seen.insert({a, b}).second) << "a point is in the set twice";
      const double z = 3 * std::pow(1 - a, 2) * std::exp(-a * a - std::pow(b + 1, 2)) -
                       10 * (a / 5 - std::pow(a, 3) - std::pow(b, 5)) * std::exp(-a * a - b * b) -
                       1.0 / 3 * std::exp(-std::pow(a + 1, 2) - b * b);
      EXPECT_GE(z, lowest + band_height * static_cast<double>(y[i]) - 1e-3);
      EXPECT_LE(z, lowest + band_height * static_cast<double>(y[i] + 1) + 1e-3);
    }
    for (const auto& [label, count] : counts) {
      EXPECT_EQ(count, part->size() / 5) << label;
    }
  }
}

TEST(Peaks, SeedChoosesThePoints) {
  const Tensor x = take_all(*peaks({.seed = 1}).train).at("x");
  EXPECT_TRUE(bit_equal(x, take_all(*peaks({.seed = 1}).train).at("x")));
  EXPECT_FALSE(bit_equal(x, take_all(*peaks({.seed = 2}).train).at("x")));
  EXPECT_EQ(peaks({.train_per_class = 3, .validation_per_class = 0}).train->size(), 15);
  EXPECT_THROW(peaks({.train_per_class = 70'000}), InvalidArgument);
  EXPECT_THROW(peaks({.train_per_class = -1}), InvalidArgument);
}

TEST(Bitstream, OnesAreAsFrequentAsTheClassSays) {
  const Splits splits = bitstream({.length = 1001, .samples = 500});
  EXPECT_EQ(splits.train->size(), 320);
  EXPECT_EQ(splits.validation->size(), 80);
  EXPECT_EQ(splits.test->size(), 100);
  const Batch all = take_all(*splits.train);
  ASSERT_EQ(all.at("x").shape(), (Shape{320, 1001}));
  const auto x = all.at("x").to_vector<double>();
  const Numbers y = labels(all);
  std::vector<double> ones(10);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(x[i] == 0 || x[i] == 1);
    ones[static_cast<std::size_t>(y[i / 1001])] += x[i];
  }
  for (std::size_t c = 0; c < ones.size(); ++c) {
    const double p = 0.05 + 0.1 * static_cast<double>(c), draws = 32 * 1001;
    EXPECT_NEAR(ones[c] / draws, p, 5 * std::sqrt(p * (1 - p) / draws));  // 5 standard deviations
  }
}

TEST(Bitstream, SamplesDependOnTheirNumberAlone) {
  const Splits splits = bitstream({.length = 7, .samples = 50, .seed = 3});
  const Tensor all = take_all(*splits.train).at("x");
  const Batch some = splits.train->take(Numbers{30, 2});
  EXPECT_TRUE(bit_equal(some.at("x").select(0, 0).clone(), all.select(0, 30).clone()));
  EXPECT_TRUE(bit_equal(some.at("x").select(0, 1).clone(), all.select(0, 2).clone()));
  EXPECT_FALSE(bit_equal(all, take_all(*bitstream({.length = 7, .samples = 50}).train).at("x")));
  EXPECT_EQ(bitstream({.length = 30'000}).train->size(), 32'000);
  EXPECT_THROW(bitstream({.length = 0}), InvalidArgument);
  EXPECT_THROW(splits.train->take(Numbers{32}), InvalidArgument);
}

TEST(Stripes, RunTheWayTheirClassSays) {
  const Splits splits = stripes({.channels = 2, .size = 13, .train = 12, .test = 4, .noise = 0});
  EXPECT_EQ(splits.num_classes, 4);
  EXPECT_EQ(splits.test->size(), 4);
  const Batch all = take_all(*splits.train);
  ASSERT_EQ(all.at("x").shape(), (Shape{12, 2, 13, 13}));
  const auto x = all.at("x").to_vector<double>();
  const Numbers y = labels(all);
  // Along a stripe, brightness stays: one to the right, one down, one up or down and to the right.
  const std::vector<std::pair<std::int64_t, std::int64_t>> along = {
      {0, 1}, {1, 0}, {-1, 1}, {1, 1}};
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(y[static_cast<std::size_t>(i)], i % 4);
    const auto& [down, right] = along[static_cast<std::size_t>(i % 4)];
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return x[static_cast<std::size_t>((i * 2 + 1) * 169 + row * 13 + column)];
    };
    for (std::int64_t row = 1; row < 12; ++row) {
      for (std::int64_t column = 0; column < 12; ++column) {
        ASSERT_NEAR(at(row, column), at(row + down, column + right), 1e-5);
      }
    }
    EXPECT_LE(std::abs(at(3, 4)), 1);
  }
}

TEST(Stripes, ImagesDependOnTheirNumberAlone) {
  const Splits splits = stripes({.channels = 3, .size = 5, .train = 40, .seed = 2});
  const Tensor all = take_all(*splits.train).at("x");
  const Batch some = splits.train->take(Numbers{30, 2});
  EXPECT_TRUE(bit_equal(some.at("x").select(0, 0).clone(), all.select(0, 30).clone()));
  EXPECT_TRUE(bit_equal(some.at("x").select(0, 1).clone(), all.select(0, 2).clone()));
  EXPECT_EQ(stripes({.channels = 1000, .size = 4096}).train->size(), 1000);
  expect_error<InvalidArgument>(
      "stripes need at least one channel and pixel, no negative number of images and no negative "
      "noise, got 0, 16, 1000, 200 and 0.5",
      [] { stripes({.channels = 0}); });
}

TEST(Planted, FeaturesTellTheLabels) {
  const PlantedOptions options{.num_features = 5000, .num_labels = 40, .train = 800, .test = 200};
  const Splits splits = planted(options);
  EXPECT_EQ(splits.num_classes, 40);
  EXPECT_EQ(splits.num_features, 5000);
  EXPECT_EQ(splits.test->size(), 200);
  // An oracle of its own: features that often occur with a label, counted on the training points,
  // predict the labels of the test points.
  std::map<std::pair<std::int64_t, std::int64_t>, int> together;
  const auto visit = [](const Batch& batch, auto&& point) {
    const auto x = batch.at("x_columns").to_vector<std::int64_t>();
    const auto xs = batch.at("x_row_starts").to_vector<std::int64_t>();
    const auto y = batch.at("y_columns").to_vector<std::int64_t>();
    const auto ys = batch.at("y_row_starts").to_vector<std::int64_t>();
    for (std::size_t i = 0; i + 1 < xs.size(); ++i) {
      point(Numbers(x.begin() + xs[i], x.begin() + xs[i + 1]),
            Numbers(y.begin() + ys[i], y.begin() + ys[i + 1]));
    }
  };
  visit(take_all(*splits.train), [&](const Numbers& features, const Numbers& tags) {
    EXPECT_TRUE(std::is_sorted(features.begin(), features.end()));
    ASSERT_GE(tags.size(), 1U);
    ASSERT_LE(tags.size(), 3U);
    for (const std::int64_t feature : features) {
      for (const std::int64_t tag : tags) {
        ++together[{feature, tag}];
      }
    }
  });
  int right = 0;
  visit(take_all(*splits.test), [&](const Numbers& features, const Numbers& tags) {
    std::vector<int> votes(40);
    for (const std::int64_t feature : features) {
      for (std::int64_t tag = 0; tag < 40; ++tag) {
        votes[static_cast<std::size_t>(tag)] += together[{feature, tag}];
      }
    }
    const auto best = std::max_element(votes.begin(), votes.end()) - votes.begin();
    right += std::find(tags.begin(), tags.end(), best) != tags.end() ? 1 : 0;
  });
  EXPECT_GT(right, 190);
}

TEST(Planted, PointsHaveLengthOneAndDependOnTheirNumberAlone) {
  const Splits splits = planted({.num_labels = 670'091, .train = 490'449});
  const Batch two = splits.train->take(Numbers{490'448, 7});
  const auto starts = two.at("x_row_starts").to_vector<std::int64_t>();
  const auto values = two.at("x_values").to_vector<double>();
  for (std::size_t row = 0; row < 2; ++row) {
    double squares = 0;
    for (std::int64_t i = starts[row]; i < starts[row + 1]; ++i) {
      squares += std::pow(values[static_cast<std::size_t>(i)], 2);
    }
    EXPECT_NEAR(squares, 1, 1e-6);
  }
  const Batch one = splits.train->take(Numbers{7});
  const auto columns = two.at("x_columns").to_vector<int>();
  EXPECT_EQ(one.at("x_columns").to_vector<int>(),
            std::vector<int>(columns.begin() + starts[1], columns.end()));
}

TEST(Planted, SaysWhatIsWrong) {
  expect_error<InvalidArgument>("planted: draws must be within [1, 2147483647], got 0",
                                [] { planted({.draws = 0}); });
  expect_error<InvalidArgument>("planted: noise must be within [0, 1], got 2",
                                [] { planted({.noise = 2}); });
}

}  // namespace antichain::data::synthetic_test
