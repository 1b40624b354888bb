#include "antichain/engines/scan/stacked_steps.h"

#include <algorithm>

#include "antichain/autodiff/walk.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/region_parts.h"
#include "antichain/ops/shape_ops.h"

namespace antichain::scan {

namespace {

Var or_zeros(Var value, Var like) { return value.valid() ? value : zeros_like(like); }

}  // namespace

std::string why_not_stacked(Op chain) {
  const std::string reason = why_not_stackable(chain.graph(), chain.regions()[0]);
  return reason.empty() ? JointState(chain).why_not() : reason;
}

StackedSteps::StackedSteps(const VjpContext& context)
    : context_(context),
      chain_(context.op()),
      layout_(chain_),
      joint_(chain_),
      length_(chain_.attrs().get<Dim>("length")) {
  Graph& graph = context.graph();
  arguments_.push_back({iota(graph, DType::i64, length_), true});
  for (int i = 0; i < layout_.states; ++i) {
    arguments_.push_back({graph.capture(chain_.output(layout_.first_before() + i)), true});
  }
  for (int i = layout_.states; i < chain_.num_inputs(); ++i) {
    arguments_.push_back({graph.capture(chain_.input(i)), i < layout_.first_captured()});
  }
  results_ = stack_region(graph, chain_.regions()[0], arguments_, length_);
  for (const JointState::Part& part : joint_.parts) {
    before_.push_back(arguments_[static_cast<std::size_t>(1 + part.state)].value);
  }
}

Vars StackedSteps::values_after(const std::vector<Stacked>& results) const {
  Vars values;
  for (const JointState::Part& part : joint_.parts) {
    values.push_back(all_runs(results[static_cast<std::size_t>(part.state)], part.shape, length_));
  }
  return values;
}

Var StackedSteps::y_of_all_steps(int y) const {
  const Dims& stacked = chain_.output(layout_.first_y() + y).shape();
  return all_runs(results_[static_cast<std::size_t>(layout_.states + y)],
                  {stacked.begin() + 1, stacked.end()}, length_);
}

// The unit vectors that belong to a part, along a new first axis. They are the same in all steps
// and places, and have size 1 there: so products with a weight are the weight itself, and what
// follows them is element-wise.
Var StackedSteps::unit_vectors(std::size_t part) const {
  const JointState::Part& own = joint_.parts[part];
  const std::int64_t size = joint_.size.constant(), columns = own.size.constant();
  std::vector<float> units(static_cast<std::size_t>(size * columns));
  for (std::int64_t i = 0; i < columns; ++i) {
    units[static_cast<std::size_t>((own.offset.constant() + i) * columns + i)] = 1;
  }
  Dims shape(2 + joint_.places.size(), Dim(1));
  shape[0] = size;
  shape.insert(shape.end(), own.shape.begin() + static_cast<std::ptrdiff_t>(joint_.places.size()),
               own.shape.end());
  const Tensor matrix = Tensor::of<float>({size, columns}, units).cast(before_[part].dtype());
  return reshape(constant(context_.graph(), matrix), shape);
}

// A column of a Jacobian is how the states move along a unit vector. That is a region of its own,
// computed for all unit vectors at once: what does not depend on them is computed once.
Var StackedSteps::transposed_jacobians() const {
  Graph& graph = context_.graph();
  std::vector<Stacked> arguments;
  RegionScope scope(graph);
  Vars tangents;
  for (Var before : before_) {
    tangents.push_back(scope.param({before.dtype(), before.shape()}));
  }
  const Vars after = values_after(stack_region(graph, chain_.regions()[0], arguments_, length_));
  Vars moved = walk_forward(graph, captured_here(graph, before_), tangents, after);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i] = or_zeros(moved[i], before_[i]);
  }
  const RegionId region = scope.finish(moved);
  for (std::size_t i = 0; i < joint_.parts.size(); ++i) {
    arguments.push_back({unit_vectors(i), true});
  }
  for (Var capture : scope.captures()) {
    arguments.push_back({capture, false});
  }
  const std::vector<Stacked> columns = stack_region(graph, region, arguments, joint_.size);
  Vars rows;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    rows.push_back(all_runs(columns[i], before_[i].shape(), joint_.size));
  }
  const Var all = joint_.join(rows);
  return joint_.is_diagonal() ? squeeze(all, 0) : move_axis(all, 0, -2);
}

Var StackedSteps::last_gradient() const {
  Vars grads;
  for (const JointState::Part& part : joint_.parts) {
    grads.push_back(context_.grad(part.state));
  }
  return joint_.join(grads);
}

Var StackedSteps::local_gradients() const {
  Graph& graph = context_.graph();
  Vars ys, y_grads;
  for (int i = 0; i < layout_.ys; ++i) {
    if (context_.has_grad(layout_.first_y() + i)) {
      ys.push_back(y_of_all_steps(i));
      y_grads.push_back(graph.capture(context_.grad(layout_.first_y() + i)));
    }
  }
  Vars grads = ys.empty() ? Vars(before_.size()) : context_.walk_back(ys, y_grads, before_);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const int output = layout_.first_before() + joint_.parts[i].state;
    if (context_.has_grad(output)) {
      grads[i] = grads[i].valid() ? grads[i] + context_.grad(output) : context_.grad(output);
    }
    grads[i] = or_zeros(grads[i], before_[i]);
  }
  return joint_.join(grads);
}

void StackedSteps::add_input_gradients(const Vars& after_gradients, Vars& input_gradients) const {
  Graph& graph = context_.graph();
  Vars outputs = values_after(results_), grads = after_gradients;
  for (int i = 0; i < layout_.ys; ++i) {
    if (context_.has_grad(layout_.first_y() + i)) {
      outputs.push_back(y_of_all_steps(i));
      grads.push_back(graph.capture(context_.grad(layout_.first_y() + i)));
    }
  }
  // The states, also those without a gradient, are among the values to differentiate by so that
  // nobody looks behind them: there is the chain itself.
  Vars wanted;
  for (int i = 0; i < layout_.states; ++i) {
    wanted.push_back(arguments_[static_cast<std::size_t>(1 + i)].value);
  }
  for (int i = layout_.first_x(); i < chain_.num_inputs(); ++i) {
    if (context_.needs(i)) {
      wanted.push_back(arguments_[static_cast<std::size_t>(1 + i)].value);
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
