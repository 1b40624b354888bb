#include "antichain/data/augment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/tensor/expect_error.h"

namespace antichain::data::augment_test {

constexpr std::int64_t kImages = 2000, kChannels = 2, kHeight = 3, kWidth = 4;

// Pixel (c, h, w) of every image is 1 + its place in the image: none is 0.
Batch images() {
  std::vector<float> x;
  for (std::int64_t i = 0; i < kImages * kChannels * kHeight * kWidth; ++i) {
    x.push_back(static_cast<float>(1 + i % (kChannels * kHeight * kWidth)));
  }
  return {{"x", Tensor::of<float>({kImages, kChannels, kHeight, kWidth}, x)}};
}

float pixel(const Tensor& x, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  if (h < 0 || h >= kHeight || w < 0 || w >= kWidth) {
    return 0;
  }
  return x.data<float>()[((n * kChannels + c) * kHeight + h) * kWidth + w];
}

bool is_moved(const Tensor& from, const Tensor& to, std::int64_t n, std::int64_t down,
              std::int64_t right) {
  for (std::int64_t c = 0; c < kChannels; ++c) {
    for (std::int64_t h = 0; h < kHeight; ++h) {
      for (std::int64_t w = 0; w < kWidth; ++w) {
        if (pixel(to, n, c, h, w) != pixel(from, n, c, h - down, w - right)) {
          return false;
        }
      }
    }
  }
  return true;
}

TEST(Augment, ShiftsMoveWholeImagesEquallyOften) {
  const Batch before = images();
  Batch after = before;
  random_shift(1)(after, {.seed = 4});
  std::map<std::pair<int, int>, int> counts;
  for (std::int64_t n = 0; n < kImages; ++n) {
    int found = 0;
    for (const int down : {-1, 0, 1}) {
      for (const int right : {-1, 0, 1}) {
        if (is_moved(before.at("x"), after.at("x"), n, down, right)) {
          ++counts[{down, right}];
          ++found;
        }
      }
    }
    ASSERT_EQ(found, 1) << n;
  }
  ASSERT_EQ(counts.size(), 9U);
  for (const auto& [move, count] : counts) {
    EXPECT_NEAR(count, kImages / 9.0, 5 * std::sqrt(kImages * 8.0 / 81));  // 5 standard deviations
  }
  EXPECT_TRUE(bit_equal(before.at("x"), images().at("x"))) << "the batch shares no memory";
}

TEST(Augment, ShiftsBeyondTheImageGiveZeros) {
  Batch batch = images();
  random_shift(100)(batch, {.seed = 4});
  int empty = 0;
  for (std::int64_t n = 0; n < kImages; ++n) {
    const Tensor image = batch.at("x").select(0, n).contiguous();
    const std::vector<float> values = image.to_vector<float>();
    empty += std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }) ? 1 : 0;
  }
  EXPECT_GT(empty, kImages * 9 / 10);
  Batch same = images();
  random_shift(0)(same, {.seed = 4});
  EXPECT_TRUE(bit_equal(same.at("x"), images().at("x")));
}

TEST(Augment, FlipsMirrorHalfOfTheImages) {
  const Batch before = images();
  Batch after = before;
  random_flip()(after, {.seed = 4});
  int flipped = 0;
  for (std::int64_t n = 0; n < kImages; ++n) {
    const bool is_flipped = pixel(after.at("x"), n, 0, 0, 0) == kWidth;
    flipped += is_flipped ? 1 : 0;
    for (std::int64_t w = 0; w < kWidth; ++w) {
      const std::int64_t from = is_flipped ? kWidth - 1 - w : w;
      EXPECT_EQ(pixel(after.at("x"), n, 1, 2, w), pixel(before.at("x"), n, 1, 2, from));
    }
  }
  EXPECT_NEAR(flipped, kImages / 2.0, 5 * std::sqrt(kImages / 4.0));
  EXPECT_TRUE(bit_equal(before.at("x"), images().at("x"))) << "the batch shares no memory";
}

TEST(Augment, SameKeySameImages) {
  for (const Augment& augment : {random_shift(2), random_flip()}) {
    Batch a = images(), b = images(), c = images();
    augment(a, {.seed = 1, .run = 2});
    augment(b, {.seed = 1, .run = 2});
    augment(c, {.seed = 1, .run = 3});
    EXPECT_TRUE(bit_equal(a.at("x"), b.at("x")));
    EXPECT_FALSE(bit_equal(a.at("x"), c.at("x")));
  }
  Batch none = {{"x", Tensor::zeros(f32, {0, 1, 3, 3})}};
  random_shift(1)(none, {});
  random_flip()(none, {});
}

TEST(Augment, SaysWhatItNeeds) {
  Batch batch = {{"x", Tensor::zeros(f32, {2, 3})}};
  expect_error<ShapeError>("'x' must be images f32[n, c, h, w] to be augmented, found f32[2, 3]",
                           [&] { random_flip()(batch, {}); });
  expect_error<InvalidArgument>("the batch has no tensor 'picture' to augment",
                                [&] { random_shift(1, "picture")(batch, {}); });
  expect_error<InvalidArgument>("a shift must be by 0 pixels or more, got -1",
                                [] { random_shift(-1); });
}

}  // namespace antichain::data::augment_test
