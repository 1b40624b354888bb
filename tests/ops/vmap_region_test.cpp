// Regions computed for many copies at once: what is the same in all copies, or along an axis, is
// computed once. That values are right is a matter of the conformance suite.
#include "antichain/ops/vmap/vmap_region.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"

namespace antichain::vmap_region_test {

constexpr std::int64_t kCopies = 3;

TEST(VmapRegion, ComputesOnceWhatIsTheSameInAllCopies) {
  Graph graph;
  RegionScope scope(graph);
  const Var x = scope.param({f32, {2, 3}}), w = scope.param({f32, {3, 3}});
  const Var same = tanh(w), result = matmul(x, same);
  const RegionId region = scope.finish({result, same});
  const Var xs = graph.input("xs", f32, {"copies", 2, 3}), weight = graph.input("w", f32, {3, 3});
  const std::vector<Mapped> arguments = {{xs, true}, {weight, false}};
  const std::vector<Mapped> found = vmap_region(graph, region, arguments, graph.dim("copies"));
  EXPECT_TRUE(found[0].is_mapped);
  EXPECT_EQ(to_string(found[0].value.shape()), "[copies, 2, 3]");
  EXPECT_FALSE(found[1].is_mapped);
  EXPECT_EQ(found[1].value, tanh(weight));
  EXPECT_EQ(to_string(with_mapped_axis(found[1], {3, 3}, graph.dim("copies")).shape()),
            "[copies, 3, 3]");
}

// A value that is the same along an axis stays so through ops that broadcast, and is repeated for
// others.
TEST(VmapRegion, RepeatsAsLateAsPossible) {
  Session session;
  Graph graph = session.graph();
  RegionScope scope(graph);
  const Var x = scope.param({f64, {5, 4}}), w = scope.param({f64, {4, 6}}),
            y = scope.param({f64, {5, 6}});
  const Var product = matmul(x, w);
  const std::vector<Var> halves = split(product, {2, 4}, 1);
  const std::vector<Var> results = {product, halves[0] * 2, sum(product, {0}), product * y};
  const RegionId region = scope.finish(results);
  const Var given = graph.input("x", f64, {kCopies, 1, 4}), weight = graph.input("w", f64, {4, 6}),
            other = graph.input("y", f64, {5, 6});
  const auto run = [&](Var value) {
    const std::vector<Mapped> arguments = {{value, true}, {weight, false}, {other, false}};
    return vmap_region(graph, region, arguments, kCopies);
  };
  const std::vector<Mapped> thin = run(given), whole = run(broadcast_to(given, {kCopies, 5, 4}));
  EXPECT_EQ(to_string(thin[0].value.shape()), "[3, 1, 6]");
  EXPECT_EQ(to_string(thin[1].value.shape()), "[3, 1, 2]");
  EXPECT_EQ(to_string(thin[2].value.shape()), "[3, 6]");
  EXPECT_EQ(to_string(thin[3].value.shape()), "[3, 5, 6]");
  std::vector<Var> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    all.push_back(with_mapped_axis(thin[i], results[i].shape(), kCopies));
    all.push_back(whole[i].value);
  }
  const auto values = [](const Shape& shape) {
    std::vector<double> numbers(static_cast<std::size_t>(numel(shape)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = std::sin(1.0 + static_cast<double>(i));
    }
    return Tensor::of<double>(shape, numbers);
  };
  const std::vector<Tensor> found =
      session
          .compile(all)(
              {{"x", values({kCopies, 1, 4})}, {"w", values({4, 6})}, {"y", values({5, 6})}})
          .tensors();
  for (std::size_t i = 0; i < results.size(); ++i) {
    conformance::expect_close(found[2 * i], found[2 * i + 1], 1e-14, std::to_string(i));
  }
}

}  // namespace antichain::vmap_region_test
