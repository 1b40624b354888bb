// Labelled `threads`: a thread prepares the batches.
#include "antichain/data/batches.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "antichain/data/shuffled.h"
#include "tests/tensor/expect_error.h"

namespace antichain::data::batches_test {

using Numbers = std::vector<std::int64_t>;

// Sample i is y = i. Counts calls of take(), and fails at a number if told so.
class Counting final : public Dataset {
 public:
  explicit Counting(std::int64_t size, std::int64_t broken = -1) : size_(size), broken_(broken) {}
  std::int64_t size() const override { return size_; }
  Batch take(std::span<const std::int64_t> numbers) const override {
    ++takes;
    for (const std::int64_t number : numbers) {
      require<DataError>(number != broken_, "sample {} is broken", number);
    }
    const Numbers y(numbers.begin(), numbers.end());
    return {{"y", Tensor::of<std::int64_t>({static_cast<std::int64_t>(y.size())}, y)}};
  }

  mutable std::atomic<int> takes = 0;

 private:
  std::int64_t size_, broken_;
};

std::vector<Numbers> rest_of_epoch(Batches& batches) {
  std::vector<Numbers> all;
  Batch batch;
  while (batches.next(batch)) {
    all.push_back(batch.at("y").to_vector<std::int64_t>());
  }
  return all;
}

std::vector<Numbers> epoch(Batches& batches, std::int64_t number, std::int64_t first = 0) {
  batches.start(number, first);
  return rest_of_epoch(batches);
}

class BatchesWithPrefetch : public testing::TestWithParam<std::int64_t> {
 protected:
  static std::unique_ptr<Batches> make(BatchesOptions options, std::int64_t size = 10) {
    options.prefetch = GetParam();
    return std::make_unique<Batches>(std::make_shared<Counting>(size), options);
  }
};

TEST_P(BatchesWithPrefetch, MayHaveTheSameOrderInAllEpochs) {
  const auto same = make({.batch = 3, .same_order = true, .seed = 5});
  const auto fresh = make({.batch = 3, .seed = 5});
  const std::vector<Numbers> first = epoch(*same, 1);
  EXPECT_EQ(first, epoch(*fresh, 1));
  EXPECT_EQ(epoch(*same, 2), first);
  EXPECT_NE(epoch(*fresh, 2), first);
}

INSTANTIATE_TEST_SUITE_P(Ahead, BatchesWithPrefetch, testing::Values(0, 1, 2, 7));

TEST_P(BatchesWithPrefetch, WalksInOrder) {
  const auto batches = make({.batch = 4, .shuffle = false});
  EXPECT_EQ(batches->batches_per_epoch(), 3);
  const std::vector<Numbers> expected = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}};
  EXPECT_EQ(epoch(*batches, 0), expected);
  EXPECT_EQ(epoch(*batches, 1), expected);
  Batch batch;
  EXPECT_FALSE(batches->next(batch));  // still at the end
}

TEST_P(BatchesWithPrefetch, DropsTheLast) {
  const auto batches = make({.batch = 4, .shuffle = false, .drop_last = true});
  EXPECT_EQ(batches->batches_per_epoch(), 2);
  EXPECT_EQ(epoch(*batches, 0), (std::vector<Numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  const auto large = make({.batch = 11, .drop_last = true});
  EXPECT_EQ(large->batches_per_epoch(), 0);
  EXPECT_TRUE(epoch(*large, 0).empty());
}

TEST_P(BatchesWithPrefetch, ShufflesBySeedAndEpoch) {
  const auto batches = make({.batch = 3, .seed = 8}), same = make({.batch = 3, .seed = 8}),
             other = make({.batch = 3, .seed = 9});
  const std::vector<Numbers> second = epoch(*batches, 2);
  EXPECT_EQ(second, epoch(*same, 2));
  EXPECT_NE(second, epoch(*same, 3));
  EXPECT_NE(second, epoch(*other, 2));
  Numbers joined;
  for (const Numbers& batch : second) {
    joined.insert(joined.end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(joined, shuffled(10, 8, 2));
}

TEST_P(BatchesWithPrefetch, ResumesAnywhere) {
  const auto batches = make({.batch = 3, .seed = 1});
  const std::vector<Numbers> whole = epoch(*batches, 5);
  for (std::int64_t first = 0; first <= 4; ++first) {
    EXPECT_EQ(epoch(*batches, 5, first), std::vector<Numbers>(whole.begin() + first, whole.end()));
  }
}

TEST_P(BatchesWithPrefetch, StartGivesUpWhatIsLeft) {
  const auto batches = make({.batch = 1, .shuffle = false});
  Batch batch;
  batches->start(0);
  EXPECT_TRUE(batches->next(batch));
  EXPECT_EQ(epoch(*batches, 1).size(), 10U);
  batches->start(2);  // and destruction gives up, too
  EXPECT_TRUE(batches->next(batch));
}

TEST_P(BatchesWithPrefetch, EmptyDatasetHasNoBatches) {
  const auto batches = make({}, 0);
  EXPECT_EQ(batches->batches_per_epoch(), 0);
  EXPECT_TRUE(epoch(*batches, 0).empty());
}

TEST_P(BatchesWithPrefetch, ErrorsReachTheCallerInTheirTurn) {
  Batches batches(std::make_shared<Counting>(10, 5),
                  {.batch = 2, .shuffle = false, .prefetch = GetParam()});
  batches.start(0);
  Batch batch;
  EXPECT_TRUE(batches.next(batch));
  EXPECT_TRUE(batches.next(batch));
  expect_error<DataError>("sample 5 is broken", [&] { batches.next(batch); });
  expect_error<DataError>("sample 5 is broken", [&] { batches.next(batch); });
  EXPECT_EQ(epoch(batches, 0, 3).size(), 2U);
}

TEST_P(BatchesWithPrefetch, AugmentationDependsOnSeedEpochAndBatch) {
  const Augment draw = [](Batch& batch, RandomStream key) {
    batch["y"] = Tensor::of<std::int64_t>({1}, {static_cast<std::int64_t>(random_word(key, 0))});
  };
  const auto batches = make({.batch = 5, .seed = 3, .augment = draw});
  const std::vector<Numbers> first = epoch(*batches, 0);
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(epoch(*batches, 0), first);
  EXPECT_EQ(epoch(*batches, 0, 1)[0], first[1]);
  EXPECT_NE(epoch(*batches, 1), first);
  EXPECT_NE(epoch(*make({.batch = 5, .seed = 4, .augment = draw}), 0), first);
}

TEST(Batches, PreparesAsManyAsItWasToldAhead) {
  const auto dataset = std::make_shared<Counting>(100);
  Batches batches(dataset, {.batch = 1, .prefetch = 3});
  batches.start(0);
  const auto wait_for = [&](int takes) {
    for (int i = 0; i < 60'000 && dataset->takes < takes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(dataset->takes, takes);
  };
  wait_for(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  wait_for(3);
  Batch batch;
  batches.next(batch);
  wait_for(4);
}

TEST(Batches, SaysWhatIsWrong) {
  const auto dataset = std::make_shared<Counting>(10);
  expect_error<InvalidArgument>("there is no dataset to make batches of",
                                [] { Batches batches(nullptr, {}); });
  expect_error<InvalidArgument>("a batch must have at least one sample, got 0",
                                [&] { Batches batches(dataset, {.batch = 0}); });
  expect_error<InvalidArgument>("prefetch must be 0 or more batches, got -1",
                                [&] { Batches batches(dataset, {.prefetch = -1}); });
  Batches batches(dataset, {.batch = 5});
  Batch batch;
  expect_error<InvalidArgument>("call start() before the first next()",
                                [&] { batches.next(batch); });
  expect_error<InvalidArgument>("epochs count from 0, got -1", [&] { batches.start(-1); });
  expect_error<InvalidArgument>("an epoch of 2 batches cannot start at batch 3, counted from 0",
                                [&] { batches.start(0, 3); });
}

TEST(Shuffled, IsAnOrderOfItsOwnPerStream) {
  Numbers order = shuffled(100, 1, 1);
  EXPECT_EQ(order, shuffled(100, 1, 1));
  EXPECT_NE(order, shuffled(100, 1, 2));
  EXPECT_NE(order, shuffled(100, 2, 1));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
  EXPECT_TRUE(shuffled(0, 1, 1).empty());
  EXPECT_THROW(shuffled(-1, 1, 1), InvalidArgument);
  EXPECT_THROW(shuffled(1, 1, -1), InvalidArgument);
}

}  // namespace antichain::data::batches_test
