#include "antichain/passes/fuse_elementwise.h"

#include <unordered_set>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/fused.h"
#include "antichain/passes/elementwise_groups.h"
#include "antichain/passes/row_form.h"

namespace antichain {

namespace {

using Index = ElementwiseGroups::Index;

bool is_number(Var value) { return made_by(value, constant_def()) && value.rank() == 0; }

// Copies the ops of a group into the body of a fused op, numbers included.
void copy_fused(Cloner& cloner, std::span<const Op> ops, const std::vector<Index>& group,
                const std::unordered_set<VarId>& read_outside) {
  Graph& target = cloner.target();
  std::vector<Var> outer_values, numbers, results;
  RegionScope scope(target);
  for (const Index n : group) {
    for (Var input : ops[n].inputs()) {
      if (is_number(input) && target.region_of(cloner(input)) != target.current_region()) {
        numbers.push_back(input);
        outer_values.push_back(cloner(input));
        cloner.map(input, target.add(constant_def(), {}, input.producer().attrs()).output());
      }
    }
    cloner.copy(ops[n]);
    if (read_outside.contains(ops[n].output().id())) {
      results.push_back(ops[n].output());
    }
  }
  const RegionId body = scope.finish(cloner(results));
  const Op op = add_fused(target, body, scope.captures(), ops[group.back()].location());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Var output = op.output(static_cast<int>(i));
    cloner.map(results[i], output);
    if (results[i].has_name()) {
      target.set_name(output, results[i].name());
    }
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    cloner.map(numbers[i], outer_values[i]);
  }
}

void copy_by_groups(Cloner& cloner, std::span<const Op> ops, std::span<const Var> results) {
  const ElementwiseGroups found(cloner.source(), ops);
  std::vector<std::size_t> group_of(ops.size());
  for (std::size_t g = 0; g < found.groups().size(); ++g) {
    for (const Index n : found.groups()[g]) {
      group_of[n] = g;
    }
  }
  std::unordered_set<VarId> read_outside;
  for (Var result : results) {
    read_outside.insert(result.id());
  }
  for (std::size_t n = 0; n < ops.size(); ++n) {
    for (Var input : ops[n].inputs()) {
      const Index maker = found.maker(input);
      if (maker != ElementwiseGroups::kNone && group_of[maker] != group_of[n]) {
        read_outside.insert(input.id());
      }
    }
  }
  for (const std::vector<Index>& group : found.groups()) {
    if (group.size() == 1) {
      cloner.copy(ops[group[0]]);
    } else {
      copy_fused(cloner, ops, group, read_outside);
    }
  }
}

bool has_fused_ops(Graph& graph) {
  return has_op(graph, [](Op op) { return &op.def() == &fused_def(); });
}

std::vector<Var> taken_apart(Op op) {
  return &op.def() == &fused_def() ? op.def().decompose(op) : op.outputs();
}

}  // namespace

GraphCopy fuse_elementwise(const GraphCopy& source) {
  if (has_fused_ops(*source.graph)) {  // they may belong to larger groups
    return fuse_elementwise(copy_graph(source, replacing_ops(taken_apart)));
  }
  const CopyRules fusion{.copy_ops = copy_by_groups};
  return has_reductions(*source.graph) ? copy_graph(bring_to_row_form(source), fusion)
                                       : copy_graph(source, fusion);
}

}  // namespace antichain
