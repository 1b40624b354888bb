#include "antichain/engines/scan/stacked_steps.h"

#include <algorithm>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"

namespace antichain::scan {

namespace {

Var or_zeros(Var value, Var like) { return value.valid() ? value : zeros_like(like); }

Vars states_before(Op chain) {
  const ChainLayout layout(chain);
  Vars before;
  for (int i = 0; i < layout.states; ++i) {
    before.push_back(chain.output(layout.first_before() + i));
  }
  return before;
}

}  // namespace

StackedSteps::StackedSteps(const VjpContext& context)
    : context_(context),
      chain_(context.op()),
      layout_(chain_),
      body_(chain_, states_before(chain_)) {}

Var StackedSteps::last_gradient() const {
  Vars grads;
  for (const JointState::Part& part : joint().parts) {
    grads.push_back(context_.grad(part.state));
  }
  return joint().join(grads);
}

Var StackedSteps::local_gradients() const {
  Graph& graph = context_.graph();
  Vars ys, y_grads;
  for (int i = 0; i < layout_.ys; ++i) {
    if (context_.has_grad(layout_.first_y() + i)) {
      ys.push_back(body_.y(i));
      y_grads.push_back(graph.capture(context_.grad(layout_.first_y() + i)));
    }
  }
  Vars grads =
      ys.empty() ? Vars(body_.before().size()) : context_.walk_back(ys, y_grads, body_.before());
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const int output = layout_.first_before() + joint().parts[i].state;
    if (context_.has_grad(output)) {
      grads[i] = grads[i].valid() ? grads[i] + context_.grad(output) : context_.grad(output);
    }
  }
  if (std::ranges::none_of(grads, &Var::valid)) {
    return {};
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    grads[i] = or_zeros(grads[i], body_.before()[i]);
  }
  return joint().join(grads);
}

void StackedSteps::add_input_gradients(const Vars& after_gradients, Vars& input_gradients) const {
  Graph& graph = context_.graph();
  Vars outputs = body_.after(), grads = after_gradients;
  for (int i = 0; i < layout_.ys; ++i) {
    if (context_.has_grad(layout_.first_y() + i)) {
      outputs.push_back(body_.y(i));
      grads.push_back(graph.capture(context_.grad(layout_.first_y() + i)));
    }
  }
  // The states, also those without a gradient, are among the values to differentiate by so that
  // nobody looks behind them: there is the chain itself.
  Vars wanted;
  for (int i = 0; i < layout_.states; ++i) {
    wanted.push_back(body_.argument(i));
  }
  for (int i = layout_.first_x(); i < chain_.num_inputs(); ++i) {
    if (context_.needs(i)) {
      wanted.push_back(body_.argument(i));
    }
  }
  const Vars found = context_.walk_back(outputs, grads, wanted);
  auto next = static_cast<std::size_t>(layout_.states);
  for (int i = layout_.first_x(); i < chain_.num_inputs(); ++i) {
    if (context_.needs(i)) {
      // A value that is several inputs is one value: its gradient counts once.
      const bool again = std::find(wanted.begin(), wanted.begin() + static_cast<long>(next),
                                   wanted[next]) != wanted.begin() + static_cast<long>(next);
      input_gradients[static_cast<std::size_t>(i)] = again ? Var() : found[next];
      ++next;
    }
  }
}

}  // namespace antichain::scan
