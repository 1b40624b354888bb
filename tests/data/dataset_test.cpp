#include "antichain/data/dataset.h"

#include <gmock/gmock.h>

#include "tests/tensor/expect_error.h"

namespace antichain::data::dataset_test {

using testing::ElementsAre;
using Numbers = std::vector<std::int64_t>;

// Sample i is x = {10 i, 10 i + 1}, y = i.
DatasetPtr counting(std::int64_t size, std::int64_t first = 0) {
  std::vector<float> x;
  Numbers y;
  for (std::int64_t i = first; i < first + size; ++i) {
    x.push_back(static_cast<float>(10 * i));
    x.push_back(static_cast<float>(10 * i + 1));
    y.push_back(i);
  }
  return std::make_shared<TensorDataset>(
      Batch{{"x", Tensor::of<float>({size, 2}, x)}, {"y", Tensor::of<std::int64_t>({size}, y)}});
}

Numbers labels(const Batch& batch) { return batch.at("y").to_vector<std::int64_t>(); }

TEST(TensorDataset, CopiesRows) {
  const DatasetPtr dataset = counting(7);
  EXPECT_EQ(dataset->size(), 7);
  const Batch batch = dataset->take(Numbers{6, 0, 6});
  EXPECT_THAT(batch.at("x").to_vector<float>(), ElementsAre(60, 61, 0, 1, 60, 61));
  EXPECT_THAT(labels(batch), ElementsAre(6, 0, 6));
  EXPECT_EQ(dataset->take({}).at("x").shape(), (Shape{0, 2}));
  EXPECT_TRUE(
      bit_equal(take_all(*dataset).at("x"), dataset->take(Numbers{0, 1, 2, 3, 4, 5, 6}).at("x")));
}

TEST(TensorDataset, TakesViewsAndEmptySamples) {
  const Tensor columns = Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5}).transpose(std::vector{1, 0});
  const TensorDataset dataset({{"x", columns}, {"none", Tensor::empty(u8, {3, 0})}});
  const Batch batch = dataset.take(Numbers{2, 1});
  EXPECT_THAT(batch.at("x").to_vector<float>(), ElementsAre(2, 5, 1, 4));
  EXPECT_EQ(batch.at("none").shape(), (Shape{2, 0}));
  EXPECT_EQ(TensorDataset({{"x", Tensor::empty(f32, {0, 2})}}).size(), 0);
}

TEST(TensorDataset, SaysWhatDoesNotFit) {
  expect_error<InvalidArgument>("a dataset needs at least one tensor, got none",
                                [] { TensorDataset dataset({}); });
  expect_error<ShapeError>("tensor 'x' of a dataset has no axis of samples", [] {
    TensorDataset dataset({{"x", Tensor::scalar(1.0F)}});
  });
  expect_error<ShapeError>("tensor 'y' has 2 samples, 'x' has 3", [] {
    TensorDataset dataset({{"x", Tensor::zeros(f32, {3, 1})}, {"y", Tensor::zeros(i64, {2})}});
  });
  for (const std::int64_t wrong : {-1, 3}) {
    EXPECT_THROW(counting(3)->take(Numbers{0, wrong}), InvalidArgument);
  }
  expect_error<InvalidArgument>("there is no sample 3; there are 3, counted from 0",
                                [] { counting(3)->take(Numbers{3}); });
}

TEST(Subset, RenumbersSamples) {
  const DatasetPtr part = subset(counting(9), {8, 1, 1, 5});
  EXPECT_EQ(part->size(), 4);
  EXPECT_THAT(labels(part->take(Numbers{3, 0})), ElementsAre(5, 8));
  EXPECT_THAT(labels(subset(part, {2})->take(Numbers{0})), ElementsAre(1));
  EXPECT_EQ(take_all(*subset(counting(3), {})).at("x").shape(), (Shape{0, 2}));
  expect_error<InvalidArgument>("a subset asks for sample 9; there are 9, counted from 0", [] {
    subset(counting(9), {0, 9});
  });
  expect_error<InvalidArgument>("there is no sample 4; there are 4, counted from 0",
                                [&] { part->take(Numbers{4}); });
  EXPECT_THROW(subset(nullptr, {}), InvalidArgument);
}

TEST(Concat, FindsSamplesInTheirParts) {
  const DatasetPtr all = concat({counting(3), counting(0), counting(4, 3), counting(2, 7)});
  EXPECT_EQ(all->size(), 9);
  EXPECT_THAT(labels(take_all(*all)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  const Batch batch = all->take(Numbers{8, 2, 3, 2});
  EXPECT_THAT(labels(batch), ElementsAre(8, 2, 3, 2));
  EXPECT_THAT(batch.at("x").to_vector<float>(), ElementsAre(80, 81, 20, 21, 30, 31, 20, 21));
  EXPECT_EQ(all->take({}).at("x").shape(), (Shape{0, 2}));
}

TEST(Concat, RefusesSamplesThatDiffer) {
  const auto other = std::make_shared<TensorDataset>(Batch{{"x", Tensor::zeros(f32, {2, 3})}});
  EXPECT_THROW(concat({counting(3), other}), ShapeError);
  EXPECT_THROW(concat({}), InvalidArgument);
  EXPECT_THROW(concat({nullptr}), InvalidArgument);
}

TEST(HoldOut, SplitsWithoutOverlap) {
  const auto [rest, held] = hold_out(counting(10), 3, 5);
  EXPECT_EQ(rest->size(), 7);
  EXPECT_EQ(held->size(), 3);
  EXPECT_THAT(labels(take_all(*concat({rest, held}))),
              testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(labels(take_all(*held)), labels(take_all(*hold_out(counting(10), 3, 5).second)));
  EXPECT_NE(labels(take_all(*held)), labels(take_all(*hold_out(counting(10), 3, 6).second)));
  EXPECT_THROW(hold_out(counting(10), 11), InvalidArgument);
  EXPECT_THROW(hold_out(nullptr, 0), InvalidArgument);
}

}  // namespace antichain::data::dataset_test
