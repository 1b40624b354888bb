#include "antichain/session/within_budget.h"

#include <algorithm>
#include <set>

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/passes/memory_budget.h"
#include "antichain/runtime/planned_memory.h"

namespace antichain {

namespace {

// The sizes that memory is planned for, as the dims of the graph know them.
DimEnv sizes_to_plan_for(const GraphCopy& program, const CompileOptions& options) {
  DimEnv env;
  std::vector<std::uint32_t> used, all;
  for (Op op : schedule(*program.graph, program.values, program.ops)) {
    for (Dim dim : &op.def() == &input_def() ? op.output().shape() : Dims()) {
      dim.collect_symbols(used);
    }
  }
  std::set<std::string> names;
  for (Op input : program.graph->inputs()) {
    for (Dim dim : input.output().shape()) {
      dim.collect_symbols(all);
    }
  }
  for (std::uint32_t symbol : all) {
    const std::string& name = program.graph->dims().symbol_name(symbol);
    names.insert(name);
    const auto size = options.plan_sizes.find(name);
    const bool given = size != options.plan_sizes.end();
    require(given || std::ranges::find(used, symbol) == used.end(),
            "memory_budget: what fits depends on the size of '{}'; give it in plan_sizes", name);
    if (!given) {
      continue;
    }
    const DimRange range = program.graph->dims().symbol_range(symbol);
    require(size->second >= range.min && size->second <= range.max,
            "plan_sizes: '{}' is {}, outside its range [{}, {}]", name, size->second, range.min,
            range.max);
    env.bind(symbol, size->second);
  }
  for (const auto& [name, size] : options.plan_sizes) {
    require(names.contains(name), "plan_sizes: no input has a size called '{}'", name);
  }
  return env;
}

}  // namespace

GraphCopy within_budget(GraphCopy program, const CompileOptions& options, const Backend& backend) {
  MemoryBudget budget{.bytes = *options.memory_budget,
                      .sizes = sizes_to_plan_for(program, options)};
  budget.needed = [&](const GraphCopy& tried) {
    return planned_memory(*tried.graph, tried.values, tried.ops, backend, backend.kernels(),
                          budget.sizes);
  };
  return fit_memory(std::move(program), budget);
}

}  // namespace antichain
