#include "antichain/engines/multigrid/adjoint_chain.h"

#include "antichain/autodiff/chain_steps.h"
#include "antichain/engines/multigrid/body_on_grid.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::multigrid {

namespace {

// Builds the body of the adjoint chain: (step, λ, [states before, xs, l]) -> λ one step earlier.
class AdjointBody {
 public:
  AdjointBody(const VjpContext& context, const ChainSteps& steps, Vars from_outputs)
      : context_(context),
        chain_(context.op()),
        layout_(chain_),
        floats_(float_states(chain_)),
        from_outputs_(std::move(from_outputs)) {
    for (int i = 0; i < layout_.first_captured(); ++i) {
      sequences_.push_back(steps.argument(i));
    }
    for (Var more : from_outputs_) {
      if (more.valid()) {
        sequences_.push_back(more);
      }
    }
  }

  const Vars& sequences() const { return sequences_; }
  Vars last_gradients() const {
    Vars grads;
    for (int state : floats_) {
      grads.push_back(context_.grad(state));
    }
    return grads;
  }

  StepResult operator()(Var step, const Vars& gradients, const Vars& slices) const {
    Graph& graph = chain_.graph();
    Vars arguments = {step};
    arguments.insert(arguments.end(), slices.begin(), slices.begin() + layout_.first_captured());
    for (int i = layout_.first_captured(); i < chain_.num_inputs(); ++i) {
      arguments.push_back(chain_.input(i));
    }
    Vars before = pulled_back(arguments, gradients, {.keeps_stride = true});
    // A coarse step of another kind has a derivative of its own, on coarse grids.
    if (has_own_coarse_step(graph, chain_.regions()[0])) {
      const Vars coarse =
          pulled_back(arguments, gradients, {.is_coarse = true, .keeps_stride = true});
      for (std::size_t i = 0; i < before.size(); ++i) {
        before[i] = on_coarse_grids(before[i], coarse[i]);
      }
    }
    auto next = static_cast<std::size_t>(layout_.first_captured());
    for (std::size_t i = 0; i < before.size(); ++i) {
      before[i] = from_outputs_[i].valid() ? before[i] + slices[next++] : before[i];
    }
    return {before};
  }

 private:
  // The gradients of the states before a step, of those after it.
  Vars pulled_back(const Vars& arguments, const Vars& gradients, const GridOfBody& grid) const {
    const Vars results = inline_body(chain_.graph(), chain_.regions()[0], arguments, grid);
    Vars after, before;
    for (int state : floats_) {
      after.push_back(results[static_cast<std::size_t>(state)]);
      before.push_back(arguments[static_cast<std::size_t>(1 + state)]);
    }
    Vars found = context_.walk_back(after, gradients, before);
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i] = found[i].valid() ? found[i] : context_.zeros_like(before[i]);
    }
    return found;
  }

  const VjpContext& context_;
  Op chain_;
  ChainLayout layout_;
  std::vector<int> floats_;
  Vars from_outputs_;
  Vars sequences_;
};

}  // namespace

Vars differentiate_by_adjoint(const VjpContext& context, const EngineChoice& engine) {
  const Op op = context.op();
  const ChainSteps steps(op, states_before(op));
  const std::vector<int> floats = float_states(op);
  Vars grads(static_cast<std::size_t>(op.num_inputs())), after;
  if (!floats.empty()) {
    const AdjointBody body(context, steps, gradients_from_outputs(context, steps));
    // What the solve reports is called by the chain, and that it is its adjoint.
    const ScopeGuard of_chain(context.graph(), op.scope());
    const ScopeGuard adjoint(context.graph(), "adjoint");
    const ChainResult found = chain(body.last_gradients(), body.sequences(), body,
                                    {.engine = engine,
                                     .reverse = !op.attrs().get<bool>("reverse"),
                                     .length = op.attrs().get<Dim>("length")},
                                    op.location());
    // On the way back, the state after a step comes before it.
    after = found.before;
    for (std::size_t i = 0; i < floats.size(); ++i) {
      grads[static_cast<std::size_t>(floats[i])] = found.last[i];
    }
  }
  add_input_gradients(context, steps, after, grads);
  return grads;
}

}  // namespace antichain::multigrid
