#include "antichain/tensor/shape.h"

#include <gtest/gtest.h>

#include <limits>

#include "antichain/base/error.h"
#include "tests/tensor/expect_error.h"

namespace antichain::shape_test {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kHuge = std::int64_t{1} << 40;

TEST(Shape, CountsElements) {
  EXPECT_EQ(numel(Shape{}), 1);
  EXPECT_EQ(numel(Shape{2, 3, 5}), 30);
  EXPECT_EQ(numel(Shape{7, 0, 3}), 0);
  EXPECT_EQ(numel(Shape{kLargest}), kLargest);
}

TEST(Shape, RefusesSizesThatCannotBe) {
  expect_error<ShapeError>("shape [2, -1] has the negative size -1", [] { numel(Shape{2, -1}); });
  expect_error<ShapeError>(
      "shape [1099511627776, 1099511627776] has more elements than 64 bits can count", [] {
        numel(Shape{kHuge, kHuge});
      });
  EXPECT_THROW(numel(Shape{kHuge, 0, kHuge}), ShapeError);  // its strides would overflow
  EXPECT_THROW(numel(Shape{0, -1}), ShapeError);
  EXPECT_THROW(contiguous_strides(Shape{0, kHuge, kHuge}), ShapeError);
}

TEST(Shape, CountsBytes) {
  EXPECT_EQ(packed_bytes(Shape{}, 8), 8U);
  EXPECT_EQ(packed_bytes(Shape{3, 5}, 2), 30U);
  EXPECT_EQ(packed_bytes(Shape{0, 5}, 4), 0U);
  expect_error<ShapeError>(
      "shape [9223372036854775807] with 2 bytes per element has more bytes than 64 bits can count",
      [] { packed_bytes(Shape{kLargest}, 2); });
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides(Shape{}), Strides{});
  EXPECT_EQ(contiguous_strides(Shape{2, 3, 5}), (Strides{15, 5, 1}));
  EXPECT_EQ(contiguous_strides(Shape{2, 0, 5}), (Strides{5, 5, 1}));
}

TEST(Shape, ExtentIsWhatAViewTouches) {
  const Extent both_ways = extent(Shape{3, 4}, Strides{10, -2});
  EXPECT_EQ(both_ways.first, -6);
  EXPECT_EQ(both_ways.last, 20);
  EXPECT_EQ(both_ways.size(), 27);
  EXPECT_EQ(extent(Shape{}, Strides{}).size(), 1);
  EXPECT_EQ(extent(Shape{1000}, Strides{0}).size(), 1);
  EXPECT_EQ(extent(Shape{1}, Strides{kLargest}).size(), 1);
  EXPECT_EQ(extent(Shape{0, 5}, Strides{kLargest, kLargest}).size(), 0);
}

TEST(Shape, ExtentRefusesWhatOverflows) {
  expect_error<ShapeError>("shape [2, 3] needs one stride per axis, found strides [1]", [] {
    extent(Shape{2, 3}, Strides{1});
  });
  expect_error<ShapeError>(
      "shape [3] with strides [9223372036854775807] reaches further than 64 bits can count",
      [] { extent(Shape{3}, Strides{kLargest}); });
  EXPECT_THROW(extent(Shape{2, 2}, Strides{kLargest, 1}), ShapeError);
  EXPECT_THROW(extent(Shape{2, 2}, Strides{kLargest, -1}), ShapeError);
  EXPECT_THROW(extent(Shape{2, 2}, Strides{-kLargest, -2}), ShapeError);
}

TEST(Shape, Prints) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{7}), "[7]");
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
}

TEST(Shape, AxesCountFromEitherEnd) {
  EXPECT_EQ(normalize_axis(0, 3), 0);
  EXPECT_EQ(normalize_axis(2, 3), 2);
  EXPECT_EQ(normalize_axis(-1, 3), 2);
  EXPECT_EQ(normalize_axis(-3, 3), 0);
  expect_error<ShapeError>("axis 3 does not exist in a tensor of rank 3",
                           [] { normalize_axis(3, 3); });
  expect_error<ShapeError>("softmax axis -4 does not exist in a tensor of rank 3",
                           [] { normalize_axis(-4, 3, "softmax axis"); });
  expect_error<ShapeError>("axis 0 does not exist in a tensor of rank 0",
                           [] { normalize_axis(0, 0); });
}

}  // namespace antichain::shape_test
