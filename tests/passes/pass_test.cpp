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

}  // namespace antichain
