// Views against a model that knows no strides: a list of values and arithmetic on indices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "antichain/base/philox.h"
#include "antichain/tensor/tensor.h"
#include "tests/tensor/expect_error.h"

namespace antichain::views_test {

using testing::ElementsAre;
using Index = std::vector<std::int64_t>;

struct Model {
  Shape shape;
  std::vector<std::int32_t> values;

  std::int32_t at(const Index& index) const {
    std::int64_t position = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      position = position * shape[i] + index[i];
    }
    return values.at(static_cast<std::size_t>(position));
  }

  // Returns the model of `new_shape` whose element at an index is this one's at origin(index).
  Model gather(Shape new_shape, const std::function<Index(const Index&)>& origin) const {
    Model result{std::move(new_shape), {}};
    const std::int64_t count = numel(result.shape);
    for (std::int64_t flat = 0; flat < count; ++flat) {
      Index index(result.shape.size());
      std::int64_t rest = flat;
      for (std::size_t i = index.size(); i-- > 0;) {
        index[i] = rest % result.shape[i];
        rest /= result.shape[i];
      }
      result.values.push_back(at(origin(index)));
    }
    return result;
  }
};

struct Pair {
  Tensor tensor;
  Model model;
};

Pair counting(const Shape& shape) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), 1);
  return {Tensor::of(shape, values), {shape, values}};
}

Pair transpose(const Pair& pair, const std::vector<int>& permutation) {
  Shape shape;
  for (const int axis : permutation) {
    shape.push_back(pair.model.shape[static_cast<std::size_t>(axis)]);
  }
  return {pair.tensor.transpose(permutation), pair.model.gather(shape, [&](const Index& index) {
            Index origin(index.size());
            for (std::size_t i = 0; i < index.size(); ++i) {
              origin[static_cast<std::size_t>(permutation[i])] = index[i];
            }
            return origin;
          })};
}

Pair slice(const Pair& pair, int axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  const auto at = static_cast<std::size_t>(axis);
  Shape shape = pair.model.shape;
  shape[at] = length;
  return {pair.tensor.slice(axis, start, length, step), pair.model.gather(shape, [&](Index index) {
            index[at] = start + index[at] * step;
            return index;
          })};
}

Pair select(const Pair& pair, int axis, std::int64_t position) {
  Shape shape = pair.model.shape;
  shape.erase(shape.begin() + axis);
  return {pair.tensor.select(axis, position), pair.model.gather(shape, [&](Index index) {
            index.insert(index.begin() + axis, position);
            return index;
          })};
}

Pair broadcast_to(const Pair& pair, const Shape& shape) {
  const std::size_t added = shape.size() - pair.model.shape.size();
  return {pair.tensor.broadcast_to(shape), pair.model.gather(shape, [&](const Index& index) {
            Index origin(index.begin() + static_cast<std::ptrdiff_t>(added), index.end());
            for (std::size_t i = 0; i < origin.size(); ++i) {
              origin[i] = pair.model.shape[i] == 1 ? 0 : origin[i];
            }
            return origin;
          })};
}

Pair reshape(const Pair& pair, const Shape& shape) {
  return {pair.tensor.reshape(shape), {shape, pair.model.values}};
}

void expect_equal(const Pair& pair) {
  ASSERT_EQ(pair.tensor.shape(), pair.model.shape);
  ASSERT_EQ(pair.tensor.to_vector<std::int32_t>(), pair.model.values);
}

// Draws numbers below a limit, each from its own Philox counter.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : seed_(seed) {}
  std::int64_t below(std::int64_t limit) {
    return philox({seed_, 0}, {count_++, 0, 0, 0})[0] % static_cast<std::uint32_t>(limit);
  }

 private:
  std::uint32_t seed_, count_ = 0;
};

Pair random_view(const Pair& pair, Dice& dice) {
  const Shape& shape = pair.model.shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  switch (dice.below(5)) {
    case 0: {
      std::vector<int> permutation(shape.size());
      std::iota(permutation.begin(), permutation.end(), 0);
      for (std::size_t i = shape.size(); i > 1; --i) {
        std::swap(permutation[i - 1],
                  permutation[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(i)))]);
      }
      return transpose(pair, permutation);
    }
    case 1: {
      if (rank == 0) {
        return pair;
      }
      const auto axis = static_cast<int>(dice.below(rank));
      const std::int64_t size = shape[static_cast<std::size_t>(axis)];
      const std::int64_t start = dice.below(size + 1), magnitude = 1 + dice.below(3);
      const std::int64_t step = dice.below(2) == 0 ? magnitude : -magnitude;
      const std::int64_t last = step > 0 ? size - 1 - start : start;  // way to the end of the axis
      const std::int64_t longest = start == size ? 0 : last / magnitude + 1;
      // Empty slices end the walk early, so most are not.
      const std::int64_t length = longest == 0 || dice.below(20) == 0 ? 0 : 1 + dice.below(longest);
      return slice(pair, axis, start, length, step);
    }
    case 2: {
      const auto axis = rank == 0 ? 0 : static_cast<int>(dice.below(rank));
      if (rank < 2 || shape[static_cast<std::size_t>(axis)] == 0) {
        return pair;
      }
      return select(pair, axis, dice.below(shape[static_cast<std::size_t>(axis)]));
    }
    case 3: {
      Shape target = shape;
      for (std::int64_t& size : target) {
        size = size == 1 ? 1 + dice.below(3) : size;
      }
      if (rank < 5) {
        target.insert(target.begin(), 1 + dice.below(2));
      }
      return broadcast_to(pair, target);
    }
    default: return dice.below(3) == 0 ? reshape(pair, {1, numel(shape)}) : pair;
  }
}

TEST(Views, RandomChainsOfViewsMatchTheModel) {
  const std::vector<Shape> starts = {{}, {1}, {7}, {5, 3}, {2, 3, 5}, {3, 1, 2, 7}, {0, 3}};
  for (std::uint32_t seed = 0; seed < 700; ++seed) {
    Dice dice(seed);
    Pair pair = counting(starts[seed % starts.size()]);
    for (int i = 0; i < 6 && numel(pair.model.shape) < 2000; ++i) {
      pair = random_view(pair, dice);
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", view " << i);
      ASSERT_NO_FATAL_FAILURE(expect_equal(pair));
    }
  }
}

// Writing through a view and reading it back, with both sides strided, for every element size.
TEST(Views, CopiesBetweenViewsOfEveryType) {
  const Pair source = slice(transpose(counting({3, 5, 7}), {2, 0, 1}), 0, 6, 4, -2);  // [4, 3, 5]
  for (const DType dtype : kNumbers.members()) {
    SCOPED_TRACE(name(dtype));
    const Tensor frame = Tensor::full(dtype, {5, 8, 3}, 127);
    const Tensor target = frame.slice(1, 1, 4, 2).transpose(std::vector<int>{1, 2, 0});
    target.copy_from(source.tensor.cast(dtype));
    EXPECT_EQ(target.to_vector<std::int32_t>(), source.model.values);
    // Nothing around the view was touched: the other positions of axis 1 still hold what they held.
    EXPECT_TRUE(bit_equal(frame.slice(1, 0, 4, 2), Tensor::full(dtype, {5, 4, 3}, 127)));
  }
}

TEST(Views, ShareMemory) {
  const Tensor tensor = Tensor::zeros(f32, {2, 3});
  *tensor.transpose(std::vector<int>{1, 0}).select(0, 2).select(0, 0).data<float>() = 1;
  *tensor.slice(0, 1, 2, -1).slice(1, 0, 1).data<float>() = 2;
  *tensor.reshape({6}).select(0, 4).data<float>() = 3;
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(0, 0, 1, 2, 3, 0));
  EXPECT_EQ(tensor.broadcast_to({4, 2, 3}).buffer(), tensor.buffer());
}

TEST(Views, AxesMayCountFromTheBack) {
  const Tensor tensor = counting({2, 3}).tensor;
  EXPECT_THAT(tensor.select(-1, 0).to_vector<float>(), ElementsAre(1, 4));
  EXPECT_THAT(tensor.slice(-1, 1, 1).to_vector<float>(), ElementsAre(2, 5));
  EXPECT_EQ(tensor.transpose(std::vector<int>{-1, 0}).shape(), (Shape{3, 2}));
}

TEST(Views, ReshapeNeedsTheSameCount) {
  const Tensor tensor = counting({2, 3}).tensor;
  EXPECT_EQ(tensor.reshape({3, 1, 2}).buffer(), tensor.buffer());
  EXPECT_EQ(Tensor::zeros(f32, {0, 3}).reshape({5, 0}).shape(), (Shape{5, 0}));
  EXPECT_EQ(Tensor::zeros(f32, {1}).reshape({}).rank(), 0);
  expect_error<ShapeError>("cannot reshape [2, 3] to [4]: the number of elements differs",
                           [&] { tensor.reshape({4}); });
  EXPECT_THROW(tensor.reshape({-1, 3}), ShapeError);
}

TEST(Views, TransposeNeedsAPermutation) {
  const Tensor tensor = counting({2, 3}).tensor;
  const auto transposed = [&](std::vector<int> permutation) { tensor.transpose(permutation); };
  expect_error<ShapeError>("transpose needs one axis for each of the 2 axes, found 1",
                           [&] { transposed({0}); });
  expect_error<ShapeError>("transpose axis 1 appears twice", [&] { transposed({1, 1}); });
  expect_error<ShapeError>("transpose axis -1 appears twice", [&] { transposed({1, -1}); });
  expect_error<ShapeError>("transpose axis 2 does not exist in a tensor of rank 2", [&] {
    transposed({0, 2});
  });
}

TEST(Views, SliceMustStayInside) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
  const Tensor tensor = counting({2, 5}).tensor;
  EXPECT_EQ(tensor.slice(1, 5, 0).numel(), 0);
  EXPECT_EQ(tensor.slice(1, 0, 0, -3).numel(), 0);
  EXPECT_THAT(tensor.slice(1, 4, 1, kLargest).to_vector<float>(), ElementsAre(5, 10));
  EXPECT_THAT(tensor.slice(1, 4, 1, kSmallest).to_vector<float>(), ElementsAre(5, 10));
  expect_error<ShapeError>("slice step must not be 0", [&] { tensor.slice(1, 0, 1, 0); });
  expect_error<ShapeError>("slice length must not be negative, found -1",
                           [&] { tensor.slice(1, 0, -1); });
  expect_error<ShapeError>("slice axis 2 does not exist in a tensor of rank 2",
                           [&] { tensor.slice(2, 0, 1); });
  expect_error<ShapeError>("slice of 3 from 1 by steps of 2 leaves axis 1 of size 5",
                           [&] { tensor.slice(1, 1, 3, 2); });
  EXPECT_THROW(tensor.slice(1, -1, 1), ShapeError);
  EXPECT_THROW(tensor.slice(1, 5, 1), ShapeError);
  EXPECT_THROW(tensor.slice(1, 6, 0), ShapeError);
  EXPECT_THROW(tensor.slice(1, -1, 0), ShapeError);
  EXPECT_THROW(tensor.slice(1, 1, 3, -1), ShapeError);
  EXPECT_THROW(tensor.slice(1, 0, kLargest), ShapeError);
  EXPECT_THROW(tensor.slice(1, 0, 2, kLargest), ShapeError);
  EXPECT_THROW(tensor.slice(1, 4, 2, kSmallest), ShapeError);
  EXPECT_THROW(tensor.slice(1, kLargest, 1), ShapeError);
  EXPECT_THROW(tensor.slice(1, kSmallest, 1), ShapeError);
  EXPECT_THROW(tensor.slice(1, kSmallest, 1, -1), ShapeError);
}

TEST(Views, EmptyTensorsMayBeViewed) {
  const Tensor tensor = Tensor::zeros(f32, {0, 5});
  EXPECT_EQ(tensor.select(1, 4).shape(), (Shape{0}));
  EXPECT_EQ(tensor.slice(1, 4, 3, -2).shape(), (Shape{0, 3}));
  EXPECT_EQ(tensor.broadcast_to({3, 0, 5}).shape(), (Shape{3, 0, 5}));
  EXPECT_EQ(Tensor::zeros(f32, {1, 5}).broadcast_to({0, 5}).shape(), (Shape{0, 5}));
}

TEST(Views, SelectNeedsAPosition) {
  const Tensor tensor = counting({2, 3}).tensor;
  expect_error<ShapeError>("index 3 is outside axis 1 of size 3", [&] { tensor.select(1, 3); });
  expect_error<ShapeError>("index -1 is outside axis 0 of size 2", [&] { tensor.select(0, -1); });
  expect_error<ShapeError>("select axis 0 does not exist in a tensor of rank 0",
                           [] { Tensor::scalar(1.0F).select(0, 0); });
}

TEST(Views, BroadcastRepeatsOnlyOnes) {
  const Tensor tensor = counting({2, 3}).tensor;
  expect_error<ShapeError>("cannot broadcast [2, 3] to [4, 3]", [&] {
    tensor.broadcast_to({4, 3});
  });
  expect_error<ShapeError>("cannot broadcast [2, 3] to [3]", [&] { tensor.broadcast_to({3}); });
  EXPECT_THROW(tensor.broadcast_to({-1, 2, 3}), ShapeError);
  EXPECT_THROW(tensor.broadcast_to({std::int64_t{1} << 62, 2, 3}), ShapeError);
}

}  // namespace antichain::views_test
