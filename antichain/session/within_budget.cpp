#include "antichain/session/within_budget.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/op_cost.h"
#include "antichain/passes/memory/memory_budget.h"
#include "antichain/runtime/measured_time.h"
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

// What ops take: measured, once for all that are the same at the same sizes. The work of an op that
// runs bodies is that of the ops in them; what cannot be run by itself is estimated.
class OpTimes {
 public:
  OpTimes(const Backend& backend, const DimEnv& sizes) : backend_(backend), sizes_(sizes) {}

  double of(Op op) {
    if (const std::optional<double> seconds = known(op).seconds) {
      return *seconds;
    }
    if (op.regions().empty()) {
      return estimated_seconds(op, sizes_);
    }
    double seconds = 0;
    for (RegionId region : op.regions()) {
      for (OpId inner : op.graph().region(region).ops) {
        seconds += of(op.graph().op(inner));
      }
    }
    return seconds * runs_of_bodies(op, sizes_);
  }

 private:
  struct Known {
    Op op;
    std::vector<Shape> shapes;  // of the inputs
    std::optional<double> seconds;
  };

  const Known& known(Op op) {
    std::vector<Shape> shapes;
    for (Var input : op.inputs()) {
      shapes.push_back(is_bound(input.shape(), sizes_) ? evaluate(input.shape(), sizes_) : Shape());
    }
    std::deque<Known>& some = known_[op.attrs().hash()];
    const auto found = std::ranges::find_if(some, [&](const Known& one) {
      return &one.op.def() == &op.def() && one.op.attrs() == op.attrs() && one.shapes == shapes &&
             std::ranges::equal(one.op.regions(), op.regions()) &&
             std::ranges::equal(one.op.inputs(), op.inputs(), {}, &Var::dtype, &Var::dtype);
    });
    if (found != some.end()) {
      return *found;
    }
    some.push_back(
        {op, std::move(shapes), measured_seconds(op, backend_, backend_.kernels(), sizes_)});
    return some.back();
  }

  const Backend& backend_;
  const DimEnv& sizes_;
  std::unordered_map<std::size_t, std::deque<Known>> known_;  // by the attributes' hash
};

}  // namespace

GraphCopy within_budget(GraphCopy program, const CompileOptions& options, const Backend& backend) {
  MemoryBudget budget{.bytes = *options.memory_budget,
                      .sizes = sizes_to_plan_for(program, options)};
  budget.needed = [&](const GraphCopy& tried) {
    return planned_memory(*tried.graph, tried.values, tried.ops, backend, backend.kernels(),
                          budget.sizes);
  };
  OpTimes times(backend, budget.sizes);
  budget.seconds = [&times](Op op) { return times.of(op); };
  return fit_memory(std::move(program), budget);
}

}  // namespace antichain
