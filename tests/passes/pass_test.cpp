#include "tests/passes/pass_test.h"

#include <algorithm>
#include <cmath>

#include "antichain/graph/traversal.h"

namespace antichain {

std::size_t count_needed(const GraphCopy& copy, std::string_view op) {
  const std::vector<Op> ops = schedule(*copy.graph, copy.values, copy.ops);
  return static_cast<std::size_t>(
      std::ranges::count_if(ops, [op](Op each) { return each.def().name == op; }));
}

std::size_t num_needed(const GraphCopy& copy) {
  return schedule(*copy.graph, copy.values, copy.ops).size();
}

Tensor wave(const Shape& shape, DType dtype) {
  Tensor result = Tensor::empty(f64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<double>()[i] = std::sin(0.37 * static_cast<double>(i) + 0.2);
  }
  return result.cast(dtype);
}

void expect_equal_values(std::string_view pass,
                         const std::function<std::vector<Var>(Graph& graph)>& build,
                         std::int64_t symbols, const SessionOptions& options) {
  const auto values = [&](const std::vector<std::string>& disabled) {
    Session session(options);
    Graph graph = session.graph();
    const Executable run =
        session.compile(build(graph), {.compiler = {.disabled = disabled, .split_chains = true}});
    Feeds feeds;
    for (Op input : graph.inputs()) {
      Shape shape;
      for (Dim dim : input.output().shape()) {
        shape.push_back(dim.is_constant() ? dim.constant() : symbols);
      }
      feeds[input.output().name()] = wave(shape);
    }
    return run(feeds).tensors();
  };
  const std::vector<Tensor> without = values({std::string(pass)}), with = values({});
  for (std::size_t i = 0; i < with.size(); ++i) {
    ASSERT_EQ(without[i].shape(), with[i].shape()) << i;
    const auto a = without[i].to_vector<float>(), b = with[i].to_vector<float>();
    for (std::size_t n = 0; n < a.size(); ++n) {
      ASSERT_NEAR(a[n], b[n], 2e-3 + 1e-4 * std::abs(a[n])) << i << " at " << n;
    }
  }
}

}  // namespace antichain
