#include "antichain/autodiff/chain_steps.h"

#include <algorithm>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

namespace {

// The outputs of the steps that are no states and have gradients.
struct OutputsWithGradients {
  Vars ys, grads;
  OutputsWithGradients(const VjpContext& context, const ChainSteps& steps) {
    const int first = steps.layout().first_y();
    for (int i = 0; i < steps.layout().ys; ++i) {
      if (context.has_grad(first + i)) {
        ys.push_back(steps.y(i));
        grads.push_back(context.graph().capture(context.grad(first + i)));
      }
    }
  }
};

}  // namespace

std::vector<int> float_states(Op chain) {
  std::vector<int> floats;
  for (int i = 0; i < ChainLayout(chain).states; ++i) {
    if (is_float(chain.input(i).dtype())) {
      floats.push_back(i);
    }
  }
  return floats;
}

Vars states_before(Op chain) {
  const ChainLayout layout(chain);
  Vars before;
  for (int i = 0; i < layout.states; ++i) {
    before.push_back(chain.output(layout.first_before() + i));
  }
  return before;
}

ChainSteps::ChainSteps(Op chain, const Vars& before)
    : chain_(chain), layout_(chain_), length_(chain_.attrs().get<Dim>("length")) {
  Graph& graph = chain_.graph();
  arguments_.push_back({iota(graph, DType::i64, length_), true});
  for (Var state : before) {
    arguments_.push_back({graph.capture(state), true});
  }
  for (int i = layout_.states; i < chain_.num_inputs(); ++i) {
    arguments_.push_back({graph.capture(chain_.input(i)), i < layout_.first_captured()});
  }
  results_ = vmap_region(graph, chain_.regions()[0], arguments_, length_);
}

Var ChainSteps::after(int state) const {
  return with_mapped_axis(results_[static_cast<std::size_t>(state)], chain_.input(state).shape(),
                          length_);
}

Var ChainSteps::y(int number) const {
  const Dims& stacked = chain_.output(layout_.first_y() + number).shape();
  return with_mapped_axis(results_[static_cast<std::size_t>(layout_.states + number)],
                          {stacked.begin() + 1, stacked.end()}, length_);
}

Vars gradients_from_outputs(const VjpContext& context, const ChainSteps& steps) {
  const std::vector<int> states = float_states(steps.chain());
  Vars before;
  for (int state : states) {
    before.push_back(steps.argument(state));
  }
  const OutputsWithGradients outputs(context, steps);
  Vars grads = outputs.ys.empty() ? Vars(states.size())
                                  : context.walk_back(outputs.ys, outputs.grads, before);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const int output = steps.layout().first_before() + states[i];
    if (context.has_grad(output)) {
      grads[i] = grads[i].valid() ? grads[i] + context.grad(output) : context.grad(output);
    }
  }
  return grads;
}

void add_input_gradients(const VjpContext& context, const ChainSteps& steps,
                         const Vars& after_gradients, Vars& input_gradients) {
  const ChainLayout& layout = steps.layout();
  OutputsWithGradients others(context, steps);
  Vars outputs, grads = after_gradients;
  for (int state : float_states(steps.chain())) {
    outputs.push_back(steps.after(state));
  }
  outputs.insert(outputs.end(), others.ys.begin(), others.ys.end());
  grads.insert(grads.end(), others.grads.begin(), others.grads.end());
  // The states, also those without a gradient, are among the values to differentiate by so that
  // nobody looks behind them: there is the chain itself.
  Vars wanted;
  for (int i = 0; i < layout.states; ++i) {
    wanted.push_back(steps.argument(i));
  }
  for (int i = layout.first_x(); i < context.num_inputs(); ++i) {
    if (context.needs(i)) {
      wanted.push_back(steps.argument(i));
    }
  }
  const Vars found = context.walk_back(outputs, grads, wanted);
  auto next = static_cast<std::size_t>(layout.states);
  for (int i = layout.first_x(); i < context.num_inputs(); ++i) {
    if (context.needs(i)) {
      // A value that is several inputs is one value: its gradient counts once.
      const bool again = std::find(wanted.begin(), wanted.begin() + static_cast<long>(next),
                                   wanted[next]) != wanted.begin() + static_cast<long>(next);
      input_gradients[static_cast<std::size_t>(i)] = again ? Var() : found[next];
      ++next;
    }
  }
}

}  // namespace antichain
