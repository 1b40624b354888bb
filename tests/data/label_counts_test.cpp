#include "antichain/data/label_counts.h"

#include <gmock/gmock.h>

#include "antichain/data/sparse_rows.h"
#include "antichain/data/synthetic.h"
#include "tests/tensor/expect_error.h"

namespace antichain::data::label_counts_test {

using testing::ElementsAre;

TEST(LabelCounts, CountsEveryPointOnce) {
  SparseRows features(1), labels(4);
  for (const std::vector<std::int32_t>& row :
       {std::vector<std::int32_t>{0, 3}, {}, {3}, {2, 0, 3}}) {
    features.add({}, {});
    labels.add(row, std::vector<float>(row.size(), 1));
  }
  const SparseDataset set(std::move(features), std::move(labels));
  EXPECT_THAT(label_counts(set, 4), ElementsAre(2, 0, 1, 3));
  expect_error<InvalidArgument>("there is a label 3 among 3, counted from 0",
                                [&] { label_counts(set, 3); });
  const auto dense = TensorDataset({{"y", Tensor::of<std::int64_t>({1}, {0})}});
  expect_error<InvalidArgument>("labels can be counted only where a batch has y_columns",
                                [&] { label_counts(dense, 3); });
}

TEST(LabelCounts, InSeveralPieces) {
  const Splits planted = data::planted({.num_features = 10, .num_labels = 7, .train = 9001});
  std::vector<std::int64_t> expected(7);
  for (const auto label : take_all(*planted.train).at("y_columns").to_vector<std::int64_t>()) {
    ++expected[static_cast<std::size_t>(label)];
  }
  EXPECT_EQ(label_counts(*planted.train, 7), expected);
}

// Computed by another program from the formula.
TEST(Propensities, OfThePaper) {
  const std::vector<double> found = inverse_propensities({10, 0}, 1000);
  EXPECT_NEAR(found[0], 3.5521470235083683, 1e-12);
  EXPECT_NEAR(found[1], 8.824188577703566, 1e-12);
  EXPECT_NEAR(inverse_propensities({3}, 490'449, {.a = 0.6, .b = 2.6})[0], 10.284627091036356,
              1e-12);
  EXPECT_THAT(inverse_propensities({2}, 2), ElementsAre(1));  // too few points to tell
  expect_error<InvalidArgument>("propensities need a and b above 0, got 0 and 1.5",
                                [] { inverse_propensities({1}, 10, {.a = 0}); });
}

}  // namespace antichain::data::label_counts_test
