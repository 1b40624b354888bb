#include "antichain/engines/multigrid/own_states.h"

#include <fmt/format.h>

namespace antichain::multigrid {

std::string free_state_name(const Graph& graph, const std::string& name) {
  std::string numbered = name;
  const bool is_eager = graph.evaluator() != nullptr;
  for (int n = 2; !is_eager && graph.find_state(graph.qualify(numbered)) != nullptr; ++n) {
    numbered = fmt::format("{}_{}", name, n);
  }
  return numbered;
}

}  // namespace antichain::multigrid
