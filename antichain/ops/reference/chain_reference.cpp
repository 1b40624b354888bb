#include "antichain/ops/reference/chain_reference.h"

#include <algorithm>

namespace antichain {

namespace {

// Where one state is read from and written to.
struct StateWalk {
  Tensor now, next;  // before and after the present step
  Tensor spare[2];   // for states that are not stacked
};

// What a chain keeps from run to run; every tensor in it is a view that moves along with the steps.
struct ChainMemory {
  Tensor step;
  std::vector<StateWalk> states;
  std::vector<Tensor> xs, ys;
  std::vector<const Tensor*> arguments;
  std::vector<Tensor*> results;
};

// Points `view` at a position along the first axis of `stacked`, without allocating if it had that
// shape before.
void select_step(Tensor& view, const Tensor& stacked, std::int64_t position) {
  const auto inner = std::span(stacked.shape()).subspan(1);
  const bool had_it = view.numel() > 0 && view.dtype() == stacked.dtype() &&
                      std::ranges::equal(view.shape(), inner);
  if (!had_it) {
    view = stacked.select(0, position);
  } else {
    view.rebase(stacked.buffer(), stacked.offset() + position * stacked.strides()[0]);
  }
}

const Tensor& spare_like(Tensor& spare, const Tensor& value) {
  if (!spare.defined() || spare.dtype() != value.dtype() || spare.shape() != value.shape()) {
    spare = Tensor::empty(value.dtype(), value.shape());
  }
  return spare;
}

class ChainRun {
 public:
  explicit ChainRun(KernelContext& context)
      : context_(context),
        memory_(context.kept<ChainMemory>()),
        num_states_(static_cast<int>(context.attr<std::int64_t>("states"))),
        num_xs_(static_cast<int>(context.attr<std::int64_t>("xs"))),
        length_(context.size("length")),
        reverse_(context.attr<bool>("reverse")) {
    const auto states = static_cast<std::size_t>(num_states_);
    if (!memory_.step.defined()) {
      memory_.step = Tensor::scalar<std::int64_t>(0);
    }
    memory_.states.resize(states);
    memory_.xs.resize(static_cast<std::size_t>(num_xs_));
    memory_.ys.resize(context.outputs.size() - 2 * states);
    memory_.arguments.assign(context.inputs.begin(), context.inputs.end());
    memory_.arguments.insert(memory_.arguments.begin(), &memory_.step);
    memory_.results.assign(context.outputs.size() - states, nullptr);
    for (int i = num_states_; i < context.num_outputs(); ++i) {
      require<ShapeError>(!is_wanted(i) || context.out(i).defined(),
                          "{}: the body returns a value whose size only the step finds out, so the "
                          "steps cannot be stacked",
                          context.where);
    }
  }

  void run() {
    for (int i = 0; i < num_states_; ++i) {
      state(i).now = context_.in(i);
      if (length_ > 0 && is_wanted(num_states_ + i)) {
        select_step(state(i).next, context_.out(num_states_ + i), position_of(0));
        state(i).next.copy_from(state(i).now);
        state(i).now = state(i).next;
      }
    }
    for (std::int64_t n = 0; n < length_; ++n) {
      run_step(n);
    }
    for (int i = 0; i < num_states_; ++i) {
      if (is_wanted(i)) {
        take_last(i);
      }
    }
    let_go();
  }

 private:
  StateWalk& state(int i) { return memory_.states[static_cast<std::size_t>(i)]; }
  bool is_wanted(int output) const { return context_.wanted[static_cast<std::size_t>(output)]; }
  std::int64_t position_of(std::int64_t n) const { return reverse_ ? length_ - 1 - n : n; }

  void run_step(std::int64_t n) {
    const std::int64_t position = position_of(n);
    *memory_.step.data<std::int64_t>() = position;
    for (int i = 0; i < num_states_; ++i) {
      choose_target(i, n);
      memory_.arguments[static_cast<std::size_t>(1 + i)] = &state(i).now;
      memory_.results[static_cast<std::size_t>(i)] = &state(i).next;
    }
    for (int i = 0; i < num_xs_; ++i) {
      Tensor& x = memory_.xs[static_cast<std::size_t>(i)];
      select_step(x, context_.in(num_states_ + i), position);
      memory_.arguments[static_cast<std::size_t>(1 + num_states_ + i)] = &x;
    }
    for (std::size_t i = 0; i < memory_.ys.size(); ++i) {
      const int output = 2 * num_states_ + static_cast<int>(i);
      if (is_wanted(output)) {
        select_step(memory_.ys[i], context_.out(output), position);
        memory_.results[static_cast<std::size_t>(num_states_) + i] = &memory_.ys[i];
      }
    }
    context_.run_region(0, memory_.arguments, memory_.results);
    for (int i = 0; i < num_states_; ++i) {
      std::swap(state(i).now, state(i).next);
    }
  }

  // A state goes into the stack, at the end into the output, and otherwise into memory that it is
  // not read from.
  void choose_target(int i, std::int64_t n) {
    StateWalk& walk = state(i);
    if (n == length_ - 1 && is_wanted(i) && context_.out(i).defined()) {
      walk.next = context_.out(i);
    } else if (n < length_ - 1 && is_wanted(num_states_ + i)) {
      select_step(walk.next, context_.out(num_states_ + i), position_of(n + 1));
    } else {
      walk.next = spare_like(walk.spare[n % 2], walk.now);
    }
  }

  // Whoever still holds memory keeps others from writing there.
  void let_go() {
    for (StateWalk& walk : memory_.states) {
      walk.now.drop_memory();
      walk.next.drop_memory();
    }
    for (std::vector<Tensor>* views : {&memory_.xs, &memory_.ys}) {
      for (Tensor& view : *views) {
        view.drop_memory();
      }
    }
  }

  void take_last(int i) {
    Tensor& out = context_.out(i);
    if (!out.defined()) {
      out = state(i).now.clone();
    } else if (length_ == 0) {
      out.copy_from(state(i).now);
    }
  }

  KernelContext& context_;
  ChainMemory& memory_;
  int num_states_, num_xs_;
  std::int64_t length_;
  bool reverse_;
};

}  // namespace

void chain_reference(KernelContext& context) { ChainRun(context).run(); }

}  // namespace antichain
