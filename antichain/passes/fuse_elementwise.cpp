#include "antichain/passes/fuse_elementwise.h"

#include <unordered_set>

#include "antichain/ops/fused.h"
#include "antichain/ops/fused_product.h"
#include "antichain/passes/body_copy.h"
#include "antichain/passes/elementwise_groups.h"
#include "antichain/passes/row_form.h"

namespace antichain {

namespace {

using Index = ElementwiseGroups::Index;

// Copies the ops of a group into the body of a fused op.
void copy_fused(Cloner& cloner, std::span<const Op> ops, const std::vector<Index>& group,
                const std::unordered_set<VarId>& read_outside) {
  BodyCopy body(cloner);
  std::vector<Var> results;
  for (const Index n : group) {
    body.copy(ops[n]);
    if (read_outside.contains(ops[n].output().id())) {
      results.push_back(ops[n].output());
    }
  }
  body.finish(results, results, fused_def());
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

}  // namespace

GraphCopy fuse_elementwise(const GraphCopy& source) {
  // What a user has fused may belong to larger groups.
  const GraphCopy parts = copy_with_parts(source, {&fused_def(), &fused_product_def()}, {});
  const CopyRules fusion{.copy_ops = copy_by_groups};
  return has_reductions(*parts.graph) ? copy_graph(bring_to_row_form(parts), fusion)
                                      : copy_graph(parts, fusion);
}

}  // namespace antichain
