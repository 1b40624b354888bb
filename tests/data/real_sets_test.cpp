// The real sets, where they are: counts and values that others published or counted independently.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

#include "antichain/data/ag_news.h"
#include "antichain/data/batches.h"
#include "antichain/data/cora.h"
#include "antichain/data/extreme.h"
#include "antichain/data/hyperspectral.h"
#include "antichain/data/image_dataset.h"
#include "antichain/data/uci_har.h"
#include "tests/build_paths.h"

namespace antichain::data::real_sets_test {

using testing::ElementsAre;
using Numbers = std::vector<std::int64_t>;

class RealSets : public testing::Test {
 protected:
  void SetUp() override {
#if !defined(ANTICHAIN_HAS_ZLIB) || !defined(ANTICHAIN_HAS_LZMA)
    GTEST_SKIP() << "this build cannot read packed sets";
#endif
  }
  // Says whether the set is here, in folder_.
  bool there(const char* set) const { return std::filesystem::exists(folder_ / set); }

  const std::filesystem::path folder_ = shared_data();
};

Numbers counts(const Numbers& labels, std::int64_t classes) {
  Numbers found(static_cast<std::size_t>(classes));
  for (const std::int64_t label : labels) {
    ++found.at(static_cast<std::size_t>(label));
  }
  return found;
}

Numbers class_counts(const DatasetPtr& dataset, std::int64_t classes) {
  Numbers labels;
  Batches batches(dataset, {.batch = 1000, .shuffle = false, .prefetch = 0});
  Batch batch;
  for (batches.start(0); batches.next(batch);) {
    const Numbers some = batch.at("y").to_vector<std::int64_t>();
    labels.insert(labels.end(), some.begin(), some.end());
  }
  return counts(labels, classes);
}

TEST_F(RealSets, Mnist) {
  if (!there("mnist")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = mnist(folder_);
  EXPECT_EQ(splits.train->size(), 60'000);
  EXPECT_EQ(splits.test->size(), 10'000);
  EXPECT_THAT(class_counts(splits.train, 10),
              ElementsAre(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949));
  EXPECT_THAT(class_counts(splits.test, 10),
              ElementsAre(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009));
  EXPECT_THAT(
      splits.train->take(Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).at("y").to_vector<std::int64_t>(),
      ElementsAre(5, 0, 4, 1, 9, 2, 1, 3, 1, 4));
  double sum = 0, squares = 0;
  Batches batches(splits.train, {.batch = 1000});
  Batch batch;
  for (batches.start(0); batches.next(batch);) {
    const float* const x = batch.at("x").data<float>();
    for (std::int64_t i = 0; i < batch.at("x").numel(); ++i) {
      sum += x[i];
      squares += static_cast<double>(x[i]) * x[i];
    }
  }
  const double count = 60'000.0 * 784, mean = sum / count;
  EXPECT_NEAR(mean, 0.1307, 5e-5);
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean), 0.3081, 5e-5);
}

TEST_F(RealSets, FashionMnist) {
  if (!there("fashion_mnist") && !std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = fashion_mnist(folder_);
  EXPECT_THAT(class_counts(splits.train, 10), testing::Each(6000));
  EXPECT_THAT(class_counts(splits.test, 10), testing::Each(1000));
}

TEST_F(RealSets, AgNews) {
  if (!there("ag_news")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = ag_news(folder_);
  EXPECT_THAT(class_counts(splits.test, 4), testing::Each(1900));
  if (splits.train->size() == 37'459) {  // the part
    EXPECT_THAT(class_counts(splits.train, 4), ElementsAre(9371, 9408, 9402, 9278));
  } else {
    EXPECT_THAT(class_counts(splits.train, 4), testing::Each(30'000));
  }
  EXPECT_EQ(splits.num_features, 30'000);
  EXPECT_EQ(splits.feature_names[2], "the");
  EXPECT_EQ(splits.train->take(Numbers{0}).at("x").shape(), (Shape{1, 64}));
}

TEST_F(RealSets, UciHar) {
  if (!there("uci_har")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = uci_har(folder_);
  EXPECT_THAT(class_counts(splits.train, 6), ElementsAre(1226, 1073, 986, 1286, 1374, 1407));
  EXPECT_THAT(class_counts(splits.test, 6), ElementsAre(496, 471, 420, 491, 532, 537));
  EXPECT_FLOAT_EQ(splits.train->take(Numbers{0}).at("x").data<float>()[0], 1.8085150e-04F);
}

TEST_F(RealSets, Cifar10) {
  if (!there("cifar10")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = cifar10(folder_);
  if (splits.train->size() == 2000) {  // the part
    EXPECT_THAT(class_counts(splits.train, 10),
                ElementsAre(202, 191, 203, 195, 214, 183, 207, 199, 203, 203));
    EXPECT_THAT(class_counts(splits.test, 10), ElementsAre(57, 41, 51, 49, 40, 48, 54, 47, 57, 56));
  } else {
    EXPECT_THAT(class_counts(splits.train, 10), testing::Each(5000));
  }
  const Tensor first = splits.train->take(Numbers{0}).at("x");
  ASSERT_EQ(first.shape(), (Shape{1, 3, 32, 32}));
  for (const auto& [channel, value] : {std::pair{0, 59}, {1, 62}, {2, 63}}) {
    EXPECT_FLOAT_EQ(first.data<float>()[1024 * channel], static_cast<float>(value) / 255);
  }
}

TEST_F(RealSets, Cora) {
  if (!there("cora")) {
    GTEST_SKIP() << "the set is not here";
  }
  const CitationGraph graph = cora(folder_, {.normalise_features = false});
  EXPECT_EQ(graph.num_nodes(), 2708);
  EXPECT_EQ(graph.features.num_columns(), 1433);
  EXPECT_EQ(graph.features.num_entries(), 49'216);
  EXPECT_EQ(graph.adjacency.num_entries(), 2708 + 2 * 5278);
  EXPECT_THAT(counts(graph.labels.to_vector<std::int64_t>(), graph.num_classes),
              ElementsAre(351, 217, 418, 818, 426, 298, 180));
  EXPECT_EQ(graph.train.size(), 140U);
  EXPECT_EQ(graph.validation.size(), 500U);
  EXPECT_EQ(graph.test.size(), 1000U);
  EXPECT_EQ(graph.test.front(), 1708);
  EXPECT_EQ(graph.class_names.size(), 7U);
}

TEST_F(RealSets, SalinasA) {
  if (!there("salinas_a")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = salinas_a(folder_);
  Numbers all(6);
  for (const DatasetPtr& part : {splits.train, splits.validation, splits.test}) {
    const Numbers some = class_counts(part, splits.num_classes);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] += some[i];
    }
  }
  EXPECT_THAT(all, ElementsAre(391, 1343, 616, 1525, 674, 799));
  EXPECT_THAT(class_counts(splits.train, 6),  // 60 %, rounded down
              ElementsAre(234, 805, 369, 915, 404, 479));
  EXPECT_EQ(splits.train->take(Numbers{0}).at("x").shape(), (Shape{1, 204}));
}

TEST_F(RealSets, IndianPines) {
  if (!there("indian_pines")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = indian_pines(folder_);
  EXPECT_EQ(splits.train->size() + splits.test->size(), 695);
  Numbers expected(16, 40);  // four of five folds of 50 pixels, of 15 in three classes
  expected[0] = expected[6] = expected[8] = 12;
  EXPECT_EQ(class_counts(splits.train, 16), expected);
  EXPECT_EQ(splits.test->take(Numbers{0}).at("x").shape(), (Shape{1, 200}));
}

TEST_F(RealSets, Delicious) {
  if (!there("xmc")) {
    GTEST_SKIP() << "the set is not here";
  }
  const Splits splits = extreme("delicious", folder_);
  EXPECT_EQ(splits.num_classes, 983);
  EXPECT_EQ(splits.num_features, 500);
  const auto facts = [](const DatasetPtr& dataset) {
    const auto& sparse = dynamic_cast<const SparseDataset&>(*dataset);
    std::int64_t without = 0;
    for (std::int64_t i = 0; i < sparse.size(); ++i) {
      without += sparse.labels().columns(i).empty() ? 1 : 0;
    }
    return Numbers{sparse.size(), sparse.labels().num_entries(), sparse.features().num_entries(),
                   without};
  };
  EXPECT_THAT(facts(splits.train), ElementsAre(12'920, 246'088, 239'549, 10));
  EXPECT_THAT(facts(splits.test), ElementsAre(3185, 60'229, 55'065, 4));
}

}  // namespace antichain::data::real_sets_test
