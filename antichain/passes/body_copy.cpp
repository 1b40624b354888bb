#include "antichain/passes/body_copy.h"

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/fused.h"

namespace antichain {

namespace {

bool is_number(Var value) { return made_by(value, constant_def()) && value.rank() == 0; }

}  // namespace

void BodyCopy::copy(Op op) {
  Graph& target = cloner_.target();
  for (Var input : op.inputs()) {
    if (is_number(input) && target.region_of(cloner_(input)) != target.current_region()) {
      numbers_.push_back(input);
      outer_numbers_.push_back(cloner_(input));
      cloner_.map(input, target.add(constant_def(), {}, input.producer().attrs()).output());
    }
  }
  cloner_.copy(op);
  place_ = op.location();
}

void BodyCopy::finish(std::span<const Var> results, std::span<const Var> originals,
                      const OpDef& def) {
  Graph& target = cloner_.target();
  const RegionId body = scope_.finish(cloner_(results));
  const Op op = add_fused(target, body, scope_.captures(), place_, def);
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const Var output = op.output(static_cast<int>(i));
    cloner_.map(originals[i], output);
    if (originals[i].has_name()) {
      target.set_name(output, originals[i].name());
    }
  }
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    cloner_.map(numbers_[i], outer_numbers_[i]);
  }
}

}  // namespace antichain
