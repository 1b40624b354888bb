#include "antichain/runtime/expected_sizes.h"

namespace antichain {

void expect_sizes(Graph& graph, const Feeds& example) {
  for (Op input : graph.inputs()) {
    const Var value = input.output();
    const auto fed = example.find(value.name());
    if (fed == example.end() || fed->second.rank() != value.rank()) {
      continue;
    }
    for (int axis = 0; axis < value.rank(); ++axis) {
      if (const Dim dim = value.dim(axis); dim.is_symbol()) {
        graph.dim(dim.str(), {.expected = fed->second.shape()[static_cast<std::size_t>(axis)]});
      }
    }
  }
}

}  // namespace antichain
