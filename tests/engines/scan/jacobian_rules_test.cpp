// Sparse Jacobians by rules, and by unit vectors, against those of `jacobian`.
#include "antichain/engines/scan/jacobian_rules.h"

#include <gtest/gtest.h>

#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/engines/scan/window_patterns.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"

namespace antichain::scan::jacobian_rules_test {

// Builds an op from inputs, the first of which it is differentiated by.
using Build = std::function<Var(std::span<const Var> in)>;

Tensor random_values(const Shape& shape, std::uint64_t seed, double low) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> draw(low, 1);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = draw(generator);
  }
  return Tensor::of<double>(shape, values);
}

std::vector<int> slots_of(Op op, Var x) {
  std::vector<int> slots;
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (op.input(i) == x) {
      slots.push_back(i);
    }
  }
  return slots;
}

// The whole transposed Jacobian of a batch: examples that do not mix, one block each.
Tensor dense(const CsrPattern& pattern, const Tensor& values, std::int64_t examples) {
  const std::int64_t rows = pattern.rows(), columns = pattern.num_columns;
  const std::vector<double> stored = values.to_vector<double>();
  const std::vector<std::int32_t> row_of = rows_of_elements(pattern);
  std::vector<double> all(static_cast<std::size_t>(examples * rows * examples * columns));
  for (std::int64_t n = 0; n < examples; ++n) {
    const std::int64_t first = values.shape()[0] == 1 ? 0 : n * pattern.stored();
    for (std::int64_t i = 0; i < pattern.stored(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      all[static_cast<std::size_t>(((n * columns + pattern.columns[at]) * examples + n) * rows +
                                   row_of[at])] += stored[static_cast<std::size_t>(first + i)];
    }
  }
  return Tensor::of<double>({examples * columns, examples * rows}, all);
}

struct Expected {
  bool rule = true;  // whether the table has one
  int values = -1;   // how many Jacobians there are: 1, or one per example; -1: either
};

// Checks an op on a batch whose size is a symbol.
void expect_jacobian(const std::vector<Shape>& shapes, const Build& build,
                     const Expected& expected = {}, double low = -1) {
  Session session;
  Graph graph = session.graph();
  std::vector<Var> in;
  Feeds feeds;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<DimSpec> declared(shapes[i].begin(), shapes[i].end());
    if (i == 0) {
      declared[0] = "batch";
    }
    const std::string name = "in" + std::to_string(i);
    in.push_back(graph.input(name, f64, declared));
    feeds[name] = random_values(shapes[i], i + 1, i == 0 ? -1 : low);
  }
  const Var y = build(in);
  const Op op = y.producer();
  const std::vector<int> slots = slots_of(op, in[0]);
  ASSERT_FALSE(slots.empty());
  EXPECT_EQ(has_jacobian_rule(op, slots), expected.rule);
  const BuildJacobian rule = find_jacobian(op, slots);
  ASSERT_TRUE(rule);
  const SparseJacobian found = rule(), by_vectors = jacobian_by_unit_vectors(op, slots);
  const std::vector<Tensor> run =
      session.compile({found.matrix.values, by_vectors.matrix.values, jacobian(y, in[0])})(feeds)
          .tensors();
  if (expected.values >= 0) {
    EXPECT_EQ(run[0].shape()[0], expected.values);
  }
  const std::int64_t examples = shapes[0][0];
  const Tensor want =
      run[2].reshape({examples * found.pattern->num_columns, examples * found.pattern->rows()});
  conformance::expect_close(dense(*found.pattern, run[0], examples), want, 1e-12, "by rule");
  conformance::expect_close(dense(*by_vectors.pattern, run[1], examples), want, 1e-12,
                            "by unit vectors");
}

TEST(JacobianRules, Convolution) {
  const auto check = [](const Shape& x, const Shape& weight, const ConvOptions& options) {
    expect_jacobian({x, weight}, [&](auto in) { return conv(in[0], in[1], options); },
                    {.values = 1});
  };
  check({2, 3, 5, 4}, {4, 3, 3, 3}, {.padding = {1, 1}});
  check({2, 2, 7, 6}, {3, 2, 3, 2}, {.stride = {2, 3}, .padding = {1, 0}});
  check({3, 2, 7, 5}, {2, 2, 2, 3}, {.padding = {0, 2}, .dilation = {3, 2}});
  check({2, 4, 5, 5}, {6, 2, 3, 1}, {.stride = {2, 1}, .padding = {2, 0}, .groups = 2});
  check({2, 3, 4, 3}, {3, 1, 3, 3}, {.padding = {1, 1}, .groups = 3});  // depth-wise
  check({2, 2, 11}, {3, 2, 5}, {.stride = {3}, .padding = {4}, .dilation = {2}});
  check({1, 2, 3, 4, 3}, {2, 1, 2, 3, 2},
        {.stride = {1, 2, 1}, .padding = {1, 1, 0}, .dilation = {2, 1, 1}, .groups = 2});
  check({2, 5, 4, 4}, {6, 2, 3, 3},
        {.stride = {1, 2}, .padding = {1, 1}, .groups = 2, .channels_last = true});
  check({2, 3, 1, 1}, {2, 3, 1, 1}, {});
}

TEST(JacobianRules, Pooling) {
  const auto check = [](const Shape& x, const PoolOptions& options) {
    expect_jacobian({x}, [&](auto in) { return max_pool(in[0], options); }, {.values = 2});
    for (const bool count_padding : {false, true}) {
      expect_jacobian({x}, [&](auto in) { return avg_pool(in[0], options, count_padding); },
                      {.values = 1});
    }
  };
  check({2, 3, 4, 6}, {.window = {2, 2}});
  check({2, 2, 7, 5}, {.window = {3, 2}, .stride = {2, 1}, .padding = {1, 1}});
  check({2, 5, 4, 3},
        {.window = {2, 3}, .stride = {1, 2}, .padding = {1, 0}, .channels_last = true});
  check({2, 2, 9}, {.window = {4}, .stride = {3}, .padding = {2}});
  check({2, 1, 3, 2, 3}, {.window = {2, 2, 2}, .stride = {1, 1, 1}});
}

TEST(JacobianRules, Elementwise) {
  expect_jacobian({{3, 4}}, [](auto in) { return relu(in[0]); }, {.values = 3});
  expect_jacobian({{2, 3, 2}}, [](auto in) { return tanh(in[0]); });
  expect_jacobian({{2, 3}}, [](auto in) { return square(in[0]); });
  expect_jacobian({{2, 3}}, [](auto in) { return in[0] * in[0]; });
  expect_jacobian({{2, 3}}, [](auto in) { return in[0] + in[0]; });
  expect_jacobian({{2, 3}, {3}}, [](auto in) { return in[0] + in[1]; }, {.values = 1});
  expect_jacobian({{2, 3}, {3}}, [](auto in) { return in[1] / (in[0]); });
  expect_jacobian({{2, 3, 1}, {3, 4}}, [](auto in) { return in[0] * in[1]; });
  expect_jacobian({{2, 1, 3}, {4, 1}}, [](auto in) { return in[0] + in[1]; });
}

TEST(JacobianRules, WeightsAndStatistics) {
  const auto product = [](bool transposed) {
    return [=](auto in) { return matmul(in[0], in[1], {.transpose_b = transposed}); };
  };
  expect_jacobian({{3, 4}, {4, 5}}, product(false), {.values = 1});
  expect_jacobian({{2, 3}, {4, 3}}, product(true), {.values = 1});
  expect_jacobian({{2, 3, 4}, {4, 2}}, product(false), {.values = 1});
  expect_jacobian({{2, 2, 3, 2}, {3, 2}}, product(true), {.values = 1});
  const auto norm = [](std::int64_t axis) {
    return [=](auto in) {
      return batch_norm_inference(in[0], in[1], in[2], in[3], in[4], 1e-5, axis);
    };
  };
  expect_jacobian({{2, 3, 2, 2}, {3}, {3}, {3}, {3}}, norm(1), {.values = 1}, 0.5);
  expect_jacobian({{2, 3, 4}, {4}, {4}, {4}, {4}}, norm(-1), {.values = 1}, 0.5);
}

TEST(JacobianRules, MovementAndSums) {
  expect_jacobian({{2, 3, 4}},
                  [](auto in) {
                    return reshape(in[0], {in[0].dim(0), 12});
                  },
                  {.values = 1});
  expect_jacobian({{2, 3, 4, 2}},
                  [](auto in) {
                    return transpose(in[0], {0, 3, 1, 2});
                  },
                  {.values = 1});
  expect_jacobian({{2, 3, 4}}, [](auto in) { return sum(in[0], {1}); }, {.values = 1});
  expect_jacobian({{2, 3, 4, 5}}, [](auto in) { return mean(in[0], {2, 3}); }, {.values = 1});
  expect_jacobian({{2, 3, 4}}, [](auto in) { return mean(in[0], {-1, 1}, true); });
}

TEST(JacobianRules, OthersByUnitVectors) {
  expect_jacobian({{2, 5}}, [](auto in) { return softmax(in[0]); }, {.rule = false});
  expect_jacobian({{3, 4}, {4}, {4}}, [](auto in) { return layer_norm(in[0], in[1], in[2]); },
                  {.rule = false});
  expect_jacobian({{2, 3, 4}}, [](auto in) { return flip(in[0], {2}); }, {.rule = false});
  expect_jacobian({{2, 6}},
                  [](auto in) { return slice(in[0], {{.axis = 1, .start = 1, .stop = 5}}); },
                  {.rule = false});
}

TEST(JacobianRules, NoneWhereExamplesMixOrSizesAreUnknown) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 4}), y = graph.input("y", f64, {4, "width"}),
            large = graph.input("large", f64, {"batch", 2000});
  EXPECT_FALSE(find_jacobian(softmax(x, 0).producer(), {0}));
  EXPECT_FALSE(find_jacobian(relu(y).producer(), {0}));
  EXPECT_FALSE(find_jacobian(transpose(x).producer(), {0}));
  EXPECT_FALSE(find_jacobian(sum(x, {0}).producer(), {0}));
  EXPECT_FALSE(find_jacobian(cast(x, f32).producer(), {0}));
  EXPECT_FALSE(find_jacobian(softmax(large).producer(), {0}));
  EXPECT_FALSE(find_jacobian(matmul(x, y).producer(), {1}));
}

// Wang, Bai and Pekhimenko (2020), table 1: the first three ops of VGG-11 on CIFAR-10.
TEST(JacobianRules, SparsityOfVgg11) {
  const WindowSteps one_by_one{{1, 1}, {1, 1}, {1, 1}}, halving{{2, 2}, {0, 0}, {1, 1}};
  const WeightPattern conv = conv_pattern(
      {.windows = {{32, 32}, {3, 3}, {32, 32}, one_by_one}, .in_channels = 3, .out_channels = 64});
  EXPECT_EQ(conv.pattern.rows(), 3 * 32 * 32);
  EXPECT_EQ(conv.pattern.num_columns, 64 * 32 * 32);
  EXPECT_EQ(conv.pattern.stored(), 3 * 64 * (3 * 32 - 2) * (3 * 32 - 2));
  EXPECT_NEAR(conv.pattern.sparsity(), 0.99157, 5e-6);
  EXPECT_NEAR(identity_pattern(64 * 32 * 32).sparsity(), 0.99998, 5e-6);
  const CsrPattern pool = pool_pattern({{32, 32}, {2, 2}, {16, 16}, halving}, 64, AxisOrder{});
  EXPECT_EQ(pool.rows(), 64 * 32 * 32);
  EXPECT_EQ(pool.num_columns, 64 * 16 * 16);
  EXPECT_NEAR(pool.sparsity(), 0.99994, 5e-6);
}

TEST(JacobianRules, PrunedWeightsHaveNoPlace) {
  const ConvGeometry geometry{.windows = {{4, 4}, {3, 3}, {4, 4}, {{1, 1}, {1, 1}, {1, 1}}},
                              .in_channels = 2,
                              .out_channels = 3};
  EXPECT_EQ(geometry.weight_size(), 2 * 3 * 9);
  const WeightPattern all = conv_pattern(geometry),
                      some = conv_pattern(geometry, [](std::int64_t w) { return w % 3 == 0; });
  std::int64_t kept = 0;
  for (const std::int32_t source : all.source) {
    kept += source % 3 == 0 ? 1 : 0;
  }
  EXPECT_EQ(some.pattern.stored(), kept);
  EXPECT_EQ(some.pattern.rows(), all.pattern.rows());
  for (const std::int32_t source : some.source) {
    EXPECT_EQ(source % 3, 0);
  }
}

}  // namespace antichain::scan::jacobian_rules_test
