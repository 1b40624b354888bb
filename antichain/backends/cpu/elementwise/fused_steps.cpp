#include "antichain/backends/cpu/elementwise/fused_steps.h"

#include <algorithm>
#include <unordered_map>

#include "antichain/backends/cpu/elementwise/elementwise.h"
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/backends/cpu/jit/op_code.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/products/fused_product.h"

namespace antichain::cpu {

namespace {

bool has_product(Op fused) { return &fused.def() == &fused_product_def(); }

// The values that steps count before the numbers.
std::size_t num_given(Op op) {
  return static_cast<std::size_t>(op.num_inputs()) + (has_product(op) ? 1 : 0);
}

// Returns the ops of a body, numbers and a product aside, with their sections, in the order of
// those.
std::vector<std::pair<int, Op>> ops_by_section(Graph& graph, RegionId body) {
  const FusedShape shape = fused_shape(graph, body);
  std::vector<std::pair<int, Op>> result;
  std::unordered_map<VarId, int> sections;
  for (OpId id : graph.region(body).ops) {
    const Op op = graph.op(id);
    if (&op.def() == &constant_def() || is_fusible_product(op.def())) {
      continue;
    }
    int round = 0;
    for (Var input : op.inputs()) {
      if (const auto found = sections.find(input.id()); found != sections.end()) {
        const bool ends = kind_of(found->second) == Section::folds;
        round = std::max(round, found->second / 3 + (ends ? 1 : 0));
      }
    }
    const Section kind = reduces_rows(op)                      ? Section::folds
                         : op.output().shape() == shape.domain ? Section::domain
                                                               : Section::rows;
    result.emplace_back(3 * round + static_cast<int>(kind), op);
    sections.emplace(op.output().id(), result.back().first);
  }
  std::ranges::stable_sort(result, {}, &std::pair<int, Op>::first);
  return result;
}

// Returns how a level computes an op; with a reduction comes a loop that copies what it reduces.
ElementOp find_loops(SimdLevel level, Op op, std::vector<RowFold>& folds) {
  if (!reduces_rows(op)) {
    return element_op(level, op);
  }
  const DType dtype = op.input(0).dtype();
  ElementOp copy;
  for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    if (kLevel == level) {
      const FoldOp fold = *fold_op(op.def());
      const FoldStage stage = FoldLevel{kLevel, &fold_table<kLevel>()}.stage(fold.fold, dtype);
      folds.push_back({fold, stage, dtype});
      copy.loop = stage.loops.rows != nullptr ? cast_loop<kLevel>(dtype, dtype) : nullptr;
    }
  });
  return copy;
}

}  // namespace

std::vector<Op> ops_in_order(Op fused) {
  std::vector<Op> ops;
  for (const auto& [section, op] : ops_by_section(fused.graph(), fused.regions()[0])) {
    ops.push_back(op);
  }
  return ops;
}

bool FusedSteps::walks_rows() const {
  return std::ranges::any_of(
      steps, [](const PieceStep& step) { return kind_of(step.section) != Section::domain; });
}

FusedSteps fused_steps(SimdLevel level, Op fused) {
  Graph& graph = fused.graph();
  const RegionInfo& body = graph.region(fused.regions()[0]);
  FusedSteps result{.contract = fused.attrs().get<bool>("contract")};
  std::unordered_map<VarId, int> numbers;  // of values, as PieceStep counts them
  const auto count = [&numbers](VarId value) {
    numbers.emplace(value, static_cast<int>(numbers.size()));
  };
  std::ranges::for_each(body.params, count);
  if (has_product(fused)) {
    count(product_of(fused).output().id());
  }
  for (OpId id : body.ops) {
    if (const Op op = graph.op(id); &op.def() == &constant_def()) {
      count(op.output().id());
      result.numbers.push_back(op.attrs().get<Tensor>("value"));
    }
  }
  std::size_t num_outputs = 0;
  for (const auto& [section, op] : ops_by_section(graph, fused.regions()[0])) {
    ElementOp found = find_loops(level, op, result.folds);
    if (found.loop == nullptr) {
      result.support = Support::no("no loop for " + op.def().name + " of " +
                                   std::string(name(op.input(0).dtype())));
      return result;
    }
    PieceStep step{.loop = found.loop, .constants = std::move(found.constants), .section = section};
    for (Var input : op.inputs()) {
      step.operands.push_back(numbers.at(input.id()));
    }
    const auto output = std::ranges::find(body.results, op.output().id());
    const bool is_output = output != body.results.end();
    step.results.push_back(
        {op.output().dtype(), is_output ? static_cast<int>(output - body.results.begin()) : -1});
    num_outputs += is_output ? 1 : 0;
    count(op.output().id());
    result.ops.push_back(op);
    result.steps.push_back(std::move(step));
  }
  if (num_outputs != body.results.size()) {
    result.support = Support::no("a result that is no op's, or is there twice");
  } else if (numbers.size() + result.folds.size() > ElementwisePlan::kMaxValues) {
    result.support = Support::no("too many values");
  }
  return result;
}

Support supports_steps(SimdLevel level, Op op, const FusedSteps& steps, JitCompiler* jit) {
  if (Support support = cpu_supports(level); !support.yes) {
    return support;
  }
  const Dims shape = &op.def() == &fused_def() ? fused_shape(op.graph(), op.regions()[0]).domain
                                               : op.output().shape();
  if (shape.size() > ElementwisePlan::kMaxAxes) {
    return Support::no("more than " + std::to_string(ElementwisePlan::kMaxAxes) + " axes");
  }
  if (steps.support.yes && jit != nullptr) {
    // While the rest of the graph is compiled; who plans waits for it.
    start_compiling(steps, num_given(op), *jit);
  }
  return steps.support;
}

bool may_overwrite(Op fused, int out, int in) {
  const RegionInfo& body = fused.graph().region(fused.regions()[0]);
  const VarId input = body.params[static_cast<std::size_t>(in)];
  bool written = false;
  for (Op op : ops_in_order(fused)) {
    const std::vector<Var> operands = op.inputs();
    if (written && std::ranges::any_of(operands, [&](Var x) { return x.id() == input; })) {
      return false;
    }
    written = written || op.output().id() == body.results[static_cast<std::size_t>(out)];
  }
  return true;
}

std::vector<std::pair<std::size_t, std::size_t>> compiled_runs(const FusedSteps& steps) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t first = 0; first < steps.ops.size();) {
    std::size_t last = first;
    while (last < steps.ops.size() && !reduces_rows(steps.ops[last]) && has_code(steps.ops[last]) &&
           steps.steps[last].section == steps.steps[first].section) {
      ++last;
    }
    if (last - first >= 2) {
      runs.emplace_back(first, last);
    }
    first = std::max(last, first + 1);
  }
  return runs;
}

namespace {

// A run as one step, and as code.
struct Run {
  PieceStep step;
  Cluster cluster;
};

Run run_of(const FusedSteps& all, std::size_t first, std::size_t last, std::size_t num_inputs) {
  const int num_numbers = static_cast<int>(all.numbers.size());
  const int first_number = static_cast<int>(num_inputs);
  const int first_result = first_number + num_numbers;
  Run run;
  run.cluster.contract = all.contract;
  std::vector<int> outside, used_numbers;  // values that the run reads
  const auto is_number = [&](int v) { return v >= first_number && v < first_result; };
  const auto is_inside = [&](int v) { return v >= first_result + static_cast<int>(first); };
  for (std::size_t n = first; n < last; ++n) {
    for (const int v : all.steps[n].operands) {
      std::vector<int>& list = is_number(v) ? used_numbers : outside;
      if (!is_inside(v) && std::ranges::find(list, v) == list.end()) {
        list.push_back(v);
      }
    }
  }
  // Types of values that are read from outside: by the ops that read them.
  const auto index_in = [](const std::vector<int>& list, int v) {
    return static_cast<int>(std::ranges::find(list, v) - list.begin());
  };
  run.cluster.inputs.resize(outside.size());
  for (const int v : used_numbers) {
    run.cluster.numbers.push_back(all.numbers[static_cast<std::size_t>(v - first_number)]);
  }
  run.step.operands = outside;
  run.step.section = all.steps[first].section;
  for (std::size_t n = first; n < last; ++n) {
    Cluster::Step step{.op = all.ops[n]};
    const auto& operands = all.steps[n].operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const int v = operands[i];
      if (is_inside(v)) {
        step.operands.push_back(static_cast<int>(outside.size() + used_numbers.size()) + v -
                                first_result - static_cast<int>(first));
      } else if (is_number(v)) {
        step.operands.push_back(static_cast<int>(outside.size()) + index_in(used_numbers, v));
      } else {
        const int at = index_in(outside, v);
        run.cluster.inputs[static_cast<std::size_t>(at)] =
            all.ops[n].input(static_cast<int>(i)).dtype();
        step.operands.push_back(at);
      }
    }
    run.cluster.steps.push_back(std::move(step));
  }
  // What later steps read, or is an output, leaves the run.
  for (std::size_t n = first; n < last; ++n) {
    const int v = first_result + static_cast<int>(n);
    bool leaves = all.steps[n].results[0].output >= 0;
    for (std::size_t later = last; !leaves && later < all.steps.size(); ++later) {
      leaves = std::ranges::count(all.steps[later].operands, v) > 0;
    }
    run.cluster.steps[n - first].is_output = leaves;
    if (leaves) {
      run.step.results.push_back(all.steps[n].results[0]);
    }
  }
  return run;
}

}  // namespace

Cluster cluster_of(const FusedSteps& steps, std::size_t first, std::size_t last,
                   std::size_t num_inputs) {
  return run_of(steps, first, last, num_inputs).cluster;
}

void start_compiling(const FusedSteps& steps, std::size_t num_inputs, JitCompiler& jit) {
  for (const auto& [first, last] : compiled_runs(steps)) {
    jit.compile(cluster_code(cluster_of(steps, first, last, num_inputs)));
  }
}

FusedSteps with_compiled_runs(const FusedSteps& steps, std::size_t num_inputs, JitCompiler& jit) {
  const std::size_t first_result = num_inputs + steps.numbers.size();
  const auto runs = compiled_runs(steps);
  FusedSteps result{.numbers = steps.numbers, .folds = steps.folds};
  // Results that stay inside a run are no values any more: the others are counted anew.
  std::vector<int> renumbered(first_result + steps.steps.size(), -1);
  for (std::size_t v = 0; v < first_result; ++v) {
    renumbered[v] = static_cast<int>(v);
  }
  int next = static_cast<int>(first_result);
  auto run = runs.begin();
  for (std::size_t n = 0; n < steps.steps.size();) {
    PieceStep step = steps.steps[n];
    if (run != runs.end() && run->first == n) {
      Run made = run_of(steps, run->first, run->second, num_inputs);
      step = std::move(made.step);
      step.cluster_loop = jit.compile(cluster_code(made.cluster)).get();
      step.constants = given_numbers(made.cluster);
      for (std::size_t i = 0; i < made.cluster.steps.size(); ++i) {
        if (made.cluster.steps[i].is_output) {
          renumbered[first_result + n + i] = next++;
        }
      }
      n = run++->second;
    } else {
      renumbered[first_result + n] = next++;
      ++n;
    }
    for (int& operand : step.operands) {
      operand = renumbered[static_cast<std::size_t>(operand)];
    }
    result.steps.push_back(std::move(step));
  }
  return result;
}

std::string compiled_code(Op fused, const JitCompiler& jit) {
  const FusedSteps steps = fused_steps(SimdLevel::baseline, fused);
  std::string text;
  for (const auto& [first, last] : compiled_runs(steps)) {
    const std::string code = cluster_code(cluster_of(steps, first, last, num_given(fused)));
    text += code + "\n" + jit.assembly(code) + "\n";
  }
  return text;
}

}  // namespace antichain::cpu
