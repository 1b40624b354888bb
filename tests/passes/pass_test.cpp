#include "tests/passes/pass_test.h"

#include <algorithm>

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

}  // namespace antichain
