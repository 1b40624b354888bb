// What a step says to batches that are wrong: one sentence; and what it makes of odd ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "antichain/base/file_error.h"
#include "tests/engines/hashing/hashed_training.h"

namespace antichain::hashing_tests::hashing_bad_input_test {

constexpr const char* kEngine = "active=40,K=3,L=5,rehash=1";

Feeds batch_of(const std::vector<std::int64_t>& labels, const std::vector<std::int64_t>& starts,
               float feature = 0.5F) {
  const auto entries = static_cast<std::int64_t>(labels.size()),
             examples = static_cast<std::int64_t>(starts.size()) - 1;
  return {{"x", Tensor::full(f32, {examples, 16}, feature)},
          {"labels", Tensor::of<std::int64_t>({entries}, labels)},
          {"starts", Tensor::of<std::int64_t>({examples + 1}, starts)}};
}

// The message of a step, which has to be one sentence, without the place in this file.
std::string message(HashedTraining& training, const Feeds& batch) {
  try {
    training.executable()(batch);
    return "nothing";
  } catch (const Error& error) {
    std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.find(". "), std::string::npos) << text;
    return text;
  }
}

// Refused batches leave no trace: the next one is as if they had not been.
template <class Check>
void refuses_in_both_forms(Check&& check) {
  for (const char* whose : {",for=example", ",for=batch"}) {
    SCOPED_TRACE(whose);
    const TrainingOptions options{.engine = std::string(kEngine) + whose};
    HashedTraining training(options), other(options);
    check(training);
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(training.step(), other.step()) << step;
    }
    EXPECT_TRUE(same_bits(training.session().states().all(), other.session().states().all()));
  }
}

template <class Check>
void in_both_forms(Check&& check) {
  for (const char* whose : {",for=example", ",for=batch"}) {
    SCOPED_TRACE(whose);
    HashedTraining training({.engine = std::string(kEngine) + whose});
    check(training);
    EXPECT_TRUE(std::isfinite(training.step())) << "a good batch after it";
  }
}

TEST(HashingBadInput, LabelsBeyondTheRange) {
  refuses_in_both_forms([](HashedTraining& training) {
    EXPECT_TRUE(message(training, batch_of({5, 300}, {0, 1, 2})).find("300") != std::string::npos)
        << message(training, batch_of({5, 300}, {0, 1, 2}));
    EXPECT_TRUE(message(training, batch_of({-301, 1}, {0, 1, 2})).find("-301") != std::string::npos)
        << message(training, batch_of({-301, 1}, {0, 1, 2}));
  });
}

TEST(HashingBadInput, RowStartsThatLie) {
  in_both_forms([](HashedTraining& training) {
    for (const std::vector<std::int64_t>& starts :
         {std::vector<std::int64_t>{0, 9, 2}, {0, 2, 1}, {0, 1, 900'000}, {0, -4, 2}, {1, 1, 2}}) {
      const std::string text = message(training, batch_of({5, 7}, starts));
      EXPECT_NE(text, "nothing") << starts[0] << " " << starts[1] << " " << starts[2];
    }
  });
}

TEST(HashingBadInput, MoreLabelsThanActiveUnits) {
  std::vector<std::int64_t> labels(45);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int64_t>(i);
  }
  refuses_in_both_forms([&](HashedTraining& training) {
    const std::string text = message(training, batch_of(labels, {0, 45}));
    EXPECT_NE(text.find("45 units have to be active for their labels, there is room for "),
              std::string::npos)
        << text;
  });
}

TEST(HashingBadInput, OneLabelTwice) {
  in_both_forms([](HashedTraining& training) {
    const double twice = training.executable()(batch_of({7, 7}, {0, 2}))[0].item<float>();
    EXPECT_TRUE(std::isfinite(twice));
  });
}

TEST(HashingBadInput, ExamplesWithoutLabelsOrFeatures) {
  in_both_forms([](HashedTraining& training) {
    EXPECT_EQ(training.executable()(batch_of({}, {0, 0, 0}))[0].item<float>(), 0);
    EXPECT_TRUE(
        std::isfinite(training.executable()(batch_of({3, 4}, {0, 1, 2}, 0))[0].item<float>()));
  });
}

TEST(HashingBadInput, NoExamples) {
  HashedTraining training({.engine = kEngine});
  EXPECT_NO_THROW(training.executable()(batch_of({}, {0})));
}

// As every engine: the loss says that there is a NaN, and nothing is read out of bounds for it.
TEST(HashingBadInput, NanFeatures) {
  for (const char* family : {"simhash", "wta", "dwta", "minhash"}) {
    HashedTraining training(
        {.engine = std::string(kEngine) + ",family=" + family + ",probes=2,K=3"});
    const Feeds batch = batch_of({3, 4}, {0, 1, 2}, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(training.executable()(batch)[0].item<float>())) << family;
    // Weights are NaN now; rows are hashed and found all the same.
    EXPECT_NO_THROW(training.steps(3)) << family;
  }
}

}  // namespace antichain::hashing_tests::hashing_bad_input_test
