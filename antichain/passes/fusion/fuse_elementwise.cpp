#include "antichain/passes/fusion/fuse_elementwise.h"

#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/passes/body_copy.h"
#include "antichain/passes/fusion/recomputed_values.h"
#include "antichain/passes/fusion/row_form.h"

namespace antichain {

namespace {

using Index = ElementwiseGroups::Index;

// Copies the ops of a group into the body of a fused op. What belongs to other groups is no result
// of this one, and if it is one of those, it stays that.
void copy_fused(Cloner& cloner, std::span<const Op> ops, const CopiedGroups& copied,
                std::size_t number) {
  std::vector<Var> results, elsewhere;
  for (const Index n : copied.groups[number]) {
    const Var output = ops[n].output();
    if (copied.read_outside.contains(output.id())) {
      (copied.home[n] == number ? results : elsewhere).push_back(output);
    }
  }
  const std::vector<Var> kept = cloner(elsewhere);
  BodyCopy body(cloner);
  for (const Index n : copied.groups[number]) {
    body.copy(ops[n]);
  }
  body.finish(results, results, fused_def());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    cloner.map(elsewhere[i], kept[i]);
  }
}

template <bool kRecompute>
void copy_by_groups(Cloner& cloner, std::span<const Op> ops, std::span<const Var> results) {
  const ElementwiseGroups found(cloner.source(), ops);
  // What the bodies of chains compute stays near the kernel that runs them: nothing is saved there.
  const bool at_top = !ops.empty() && cloner.source().region_of(ops[0]) == kRootRegion;
  const CopiedGroups copied = copied_groups(found, ops, results, kRecompute && at_top);
  for (std::size_t g = 0; g < copied.groups.size(); ++g) {
    if (copied.groups[g].size() == 1) {
      cloner.copy(ops[copied.groups[g][0]]);
    } else if (!copied.groups[g].empty()) {
      copy_fused(cloner, ops, copied, g);
    }
  }
}

GraphCopy fuse(const GraphCopy& source, const Cloner::CopyOps& copy_ops) {
  // What a user has fused may belong to larger groups.
  const auto apart = taken_apart(source, {&fused_def(), &fused_product_def()});
  const GraphCopy& parts = apart ? *apart : source;
  const CopyRules fusion{.copy_ops = copy_ops};
  return has_reductions(*parts.graph) ? copy_graph(bring_to_row_form(parts), fusion)
                                      : copy_graph(parts, fusion);
}

}  // namespace

GraphCopy fuse_elementwise(const GraphCopy& source) { return fuse(source, copy_by_groups<false>); }

GraphCopy fuse_recomputing(const GraphCopy& source) { return fuse(source, copy_by_groups<true>); }

}  // namespace antichain
