// Evaluation that computes the units that tables give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/wide.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/engines/hashing/hashed_training.h"

namespace antichain::hashing_tests::hashed_inference_test {

constexpr const char* kEngine = "active=60,K=4,L=20";

std::vector<float> evaluated(HashedTraining& training, const std::string& engine,
                             const std::vector<std::int64_t>& widths, const Feeds& batch) {
  Graph graph = training.session().graph();
  const Var x = graph.input("x", f32, {"batch", 16});
  const Var values = nn::wide_mlp(x, widths, {.name = "out", .engine = engine, .training = false});
  return training.session().compile({values})({{"x", batch.at("x")}})[0].to_vector<float>();
}

std::string hashed(const std::string& more = {}) {
  return std::string("hashing:inference=hashed,") + kEngine + more;
}

struct Hits {
  double first = 0;       // examples whose label has the largest value
  std::size_t least = 0;  // units of an example with the least value
};
Hits hits(const std::vector<float>& values, const Feeds& batch) {
  Hits result;
  const auto labels = batch.at("labels").to_vector<std::int64_t>();
  const std::size_t units = values.size() / labels.size();
  for (std::size_t example = 0; example < labels.size(); ++example) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(example * units);
    const auto end = begin + static_cast<std::ptrdiff_t>(units);
    result.first += std::max_element(begin, end) - begin == labels[example] ? 1 : 0;
    result.least = static_cast<std::size_t>(std::count(begin, end, *std::min_element(begin, end)));
  }
  return result;
}

TEST(HashedInference, FindsNearlyAllThatTheFullLayerDoes) {
  HashedTraining training({.engine = kEngine, .examples = 60});
  training.steps(200);
  const Feeds batch = training.batch(1000);
  const std::vector<float> dense = evaluated(training, "hashing", {300}, batch),
                           some = evaluated(training, hashed(), {300}, batch);
  const Hits of_dense = hits(dense, batch), of_some = hits(some, batch);
  EXPECT_GT(of_dense.first, 30);
  EXPECT_GT(of_some.first, 0.9 * of_dense.first);
  EXPECT_EQ(of_dense.least, 1U);
  EXPECT_EQ(of_some.least, 241U)
      << "60 of 300 are computed, the least of them has the others' value";
}

TEST(HashedInference, ComputedValuesAreThoseOfTheFullLayer) {
  HashedTraining training({.engine = kEngine});
  training.steps(20);
  const Feeds batch = training.batch(1000);
  const std::vector<float> dense = evaluated(training, "backprop", {300}, batch);
  const std::vector<float> all = evaluated(training, hashed(",inference_share=1"), {300}, batch);
  const std::vector<float> few = evaluated(training, hashed(",inference_share=0.05"), {300}, batch);
  ASSERT_EQ(all.size(), dense.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    EXPECT_NEAR(all[i], dense[i], 1e-4);
    same += std::abs(few[i] - dense[i]) < 1e-4 ? 1U : 0U;
  }
  EXPECT_GE(same, 24U * 15U);
  EXPECT_LT(same, 24U * 20U);
}

TEST(HashedInference, HiddenLayersToo) {
  const std::vector<std::int64_t> widths = {200, 150, 300};
  HashedTraining training({.engine = kEngine, .widths = widths});
  training.steps(20);
  const Feeds batch = training.batch(1000);
  const std::vector<float> dense = evaluated(training, "backprop", widths, batch),
                           all = evaluated(training, hashed(",inference_share=1"), widths, batch);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    EXPECT_NEAR(all[i], dense[i], 1e-3);
  }
  EXPECT_NE(evaluated(training, hashed(), widths, batch), dense);
}

// An example's values do not depend on the others of its batch, even where training shares units.
TEST(HashedInference, EachExampleByItself) {
  HashedTraining training({.engine = std::string(kEngine) + ",for=batch"});
  training.steps(20);
  Feeds batch = training.batch(1000);
  const std::string engine = hashed(",for=batch");
  const std::vector<float> together = evaluated(training, engine, {300}, batch);
  const std::vector<float> x = batch["x"].to_vector<float>();
  batch["x"] = Tensor::of<float>({1, 16}, std::span(x).subspan(3 * 16, 16));
  const std::vector<float> alone = evaluated(training, engine, {300}, batch);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_NEAR(alone[i], together[3 * 300 + i], 1e-5);
  }
}

// With nothing set, and with units that are drawn for all examples.
TEST(HashedInference, WhateverIsSetInTraining) {
  for (const char* set : {"K=4", "K=4,share=0.3,drawn=0.5", "K=4,share=0.3,drawn=0.9",
                          "K=4,active=100,drawn=0,for=batch"}) {
    SCOPED_TRACE(set);
    HashedTraining training({.engine = set, .widths = {700}});
    training.steps(20);
    const Feeds batch = training.batch(1000);
    const std::vector<float> dense = evaluated(training, "backprop", {700}, batch);
    const std::vector<float> some =
        evaluated(training, std::string("hashing:inference=hashed,") + set, {700}, batch);
    std::size_t same = 0;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      same += std::abs(some[i] - dense[i]) < 1e-4 ? 1U : 0U;
    }
    EXPECT_GT(same, dense.size() / 10);
    EXPECT_LT(same, dense.size());
  }
}

TEST(HashedInference, CanBeDifferentiated) {
  HashedTraining training({.engine = kEngine});
  training.steps(2);
  const auto slope = [&](const std::string& engine) {
    Graph graph = training.session().graph();
    const Var x = graph.input("x", f32, {"batch", 16});
    const Var values = nn::wide_mlp(x, {300}, {.name = "out", .engine = engine, .training = false});
    return training.session()
        .compile({grad(sum(values), x)})({{"x", training.batch(0).at("x")}})[0]
        .to_vector<float>();
  };
  const std::vector<float> all = slope(hashed(",inference_share=1")), dense = slope("backprop");
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(all[i], dense[i], 1e-3);
  }
}

}  // namespace antichain::hashing_tests::hashed_inference_test
