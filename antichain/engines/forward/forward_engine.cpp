#include "antichain/engines/forward/forward_engine.h"

#include "antichain/autodiff/walk.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

constexpr std::int64_t kMaxElements =
    65'536;  // one push forward each: beyond, this is surely a mistake

// The gradient of one input: an element per push forward.
Var push_all(const VjpContext& context, int input) {
  const Op op = context.op();
  const Var x = op.input(input);
  const Dim count = numel(x.shape());
  const auto push = [&](Var step, const Vars&, const Vars&) -> StepResult {
    Vars tangents(static_cast<std::size_t>(op.num_inputs()));
    tangents[static_cast<std::size_t>(input)] = reshape(one_hot(step, count, x.dtype()), x.shape());
    const Vars moved = op_jvp(op, tangents);
    Var slope = scalar(context.graph(), x.dtype(), 0);
    for (int i = 0; i < op.num_outputs(); ++i) {
      if (context.has_grad(i) && moved[static_cast<std::size_t>(i)].valid()) {
        slope = slope + cast(sum(context.grad(i) * moved[static_cast<std::size_t>(i)]), x.dtype());
      }
    }
    return {{}, {slope}};
  };
  const Var steps = iota(context.graph(), DType::i64, count);
  return reshape(chain({}, {steps}, push, {}, op.location()).ys[0], x.shape());
}

class ForwardEngine final : public GradientEngine {
 public:
  std::string_view name() const override { return "forward"; }
  std::string_view summary() const override {
    return "forward mode along every unit vector: no backward sweep, for few parameters";
  }
  Guarantee guarantee() const override { return Guarantee::exact; }

  Support supports(Op region_op, const std::vector<bool>& needed) const override {
    for (int i = 0; i < region_op.num_inputs(); ++i) {
      const Var input = region_op.input(i);
      const Dim count = numel(input.shape());
      if (needed[static_cast<std::size_t>(i)] && count.range().min > kMaxElements) {
        return Support::no("input " + input.name() + " has " + count.str() +
                           " elements, and each costs a run");
      }
    }
    return {};
  }

  std::vector<Var> differentiate(VjpContext& context) const override {
    std::vector<Var> grads;
    for (int i = 0; i < context.num_inputs(); ++i) {
      grads.push_back(context.needs(i) ? push_all(context, i) : Var());
    }
    return grads;
  }
};

}  // namespace

std::unique_ptr<GradientEngine> make_forward_engine() { return std::make_unique<ForwardEngine>(); }

}  // namespace antichain
