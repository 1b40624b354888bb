#include "antichain/runtime/planned_memory.h"

#include "antichain/runtime/frame.h"
#include "antichain/runtime/program.h"

namespace antichain {

std::size_t planned_memory(Graph& graph, std::span<const Var> results, std::span<const Op> effects,
                           const Backend& backend, const KernelTable& kernels, const DimEnv& env) {
  std::vector<Var> inputs;
  for (Op input : graph.inputs()) {
    inputs.push_back(input.output());
  }
  const Logger quiet(LogLevel::silent);
  const Program program(graph, inputs, results, effects, kernels, quiet);
  RunContext shared{.backend = &backend, .env = env};
  return Frame(program, shared).memory_bytes();
}

}  // namespace antichain
