#include "antichain/ops/reference/chain_reference.h"

#include <algorithm>
#include <optional>

#include "antichain/ops/control_flow/revolve.h"
#include "antichain/ops/reference/step_memory.h"

namespace antichain {

namespace {

// Where one state is read from and written to.
struct StateViews {
  Tensor now, next;   // before and after the present step
  Tensor between[2];  // for what is not stacked
};

// What a chain keeps from run to run; every tensor in it is a view that moves along with the steps.
struct ChainMemory {
  StepNumber step;
  std::vector<StateViews> states;
  std::vector<Tensor> xs, ys;
  std::vector<std::int64_t> stored;  // with slots: the steps whose states go into rows 0, 1, ...
  std::vector<const Tensor*> arguments;
  std::vector<Tensor*> results;
};

// What memory a state finds among the outputs.
struct StateOutputs {
  bool last, stacked;  // whether they are wanted and have memory
  bool few;            // the stacked ones are few: those of slots, and a last one to work in

  StateOutputs(const KernelContext& context, int state) {
    const auto states = static_cast<int>(context.attr<std::int64_t>("states"));
    const auto is_there = [&](int output) {
      return context.wanted[static_cast<std::size_t>(output)] && context.out(output).defined();
    };
    last = is_there(state);
    stacked = is_there(states + state);
    few = stacked && context.attr<std::int64_t>("slots") > 0;
  }
  // How many pieces of the workspace a state needs beside them: what is not stacked moves back and
  // forth between two places.
  int spares() const {
    return stacked && !few ? (last ? 0 : 1) : 2 - (last ? 1 : 0) - (few ? 1 : 0);
  }
};

class ChainRun {
 public:
  explicit ChainRun(KernelContext& context)
      : context_(context),
        memory_(context.kept<ChainMemory>()),
        num_states_(static_cast<int>(context.attr<std::int64_t>("states"))),
        num_xs_(static_cast<int>(context.attr<std::int64_t>("xs"))),
        length_(context.size("length")),
        slots_(context.attr<std::int64_t>("slots")),
        reverse_(context.attr<bool>("reverse")) {
    const auto states = static_cast<std::size_t>(num_states_);
    memory_.states.resize(states);
    memory_.xs.resize(static_cast<std::size_t>(num_xs_));
    memory_.ys.resize(context.outputs.size() - 2 * states);
    memory_.arguments.assign(context.inputs.begin(), context.inputs.end());
    memory_.arguments.insert(memory_.arguments.begin(), memory_.step.tensor());
    memory_.results.assign(context.outputs.size() - states, nullptr);
    if (slots_ > 0 && memory_.stored.empty()) {
      memory_.stored = first_stored(length_, slots_);
      // The last row is for the step that is reversed first, if no other row is.
      if (length_ > 1 && (memory_.stored.empty() || memory_.stored.back() != length_ - 1)) {
        memory_.stored.push_back(length_ - 1);
      }
    }
    for (int i = num_states_; i < context.num_outputs(); ++i) {
      require<ShapeError>(!is_wanted(i) || context.out(i).defined(),
                          "{}: the body returns a value whose size only the step finds out, so the "
                          "steps cannot be stacked",
                          context.where);
    }
  }

  void run() {
    Pieces pieces(*context_.workspace);
    for (int i = 0; i < num_states_; ++i) {
      find_places_between(i, pieces);
      state(i).now = context_.in(i);
      if (length_ > 0 && slots_ == 0 && is_wanted(num_states_ + i)) {
        select_step(state(i).next, context_.out(num_states_ + i), position_of(0));
        context_.device->copy(state(i).next, state(i).now);
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
  StateViews& state(int i) { return memory_.states[static_cast<std::size_t>(i)]; }
  bool is_wanted(int output) const { return context_.wanted[static_cast<std::size_t>(output)]; }
  std::int64_t position_of(std::int64_t n) const { return reverse_ ? length_ - 1 - n : n; }

  void find_places_between(int i, Pieces& pieces) {
    const StateOutputs outputs(context_, i);
    Tensor(&between)[2] = state(i).between;
    int spares = outputs.spares();
    if (outputs.last) {
      between[0] = context_.out(i);
    } else if (spares-- > 0) {
      pieces.place(between[0], context_.in(i));
    }
    if (outputs.few) {
      select_step(between[1], context_.out(num_states_ + i), slots_ - 1);
    } else if (spares > 0) {
      pieces.place(between[1], context_.in(i));
    }
  }

  // Where the states before step n are kept, if they are.
  std::optional<std::int64_t> row_of(std::int64_t n) const {
    if (slots_ == 0) {
      return position_of(n);
    }
    const auto found = std::ranges::lower_bound(memory_.stored, n);
    if (found == memory_.stored.end() || *found != n) {
      return std::nullopt;
    }
    return found - memory_.stored.begin();
  }

  void run_step(std::int64_t n) {
    const std::int64_t position = position_of(n);
    memory_.step.set(position, length_, *context_.device);
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

  // A state goes into the stack, at the end into the output, and otherwise to the one of two places
  // that it is not read from. Those are the output, where nothing may lie before the last step, and
  // the last row, where nothing may lie before the step that is kept there: hence the parity.
  void choose_target(int i, std::int64_t n) {
    StateViews& views = state(i);
    const std::int64_t step = n + 1;  // before which it is the state
    const bool stacked = step < length_ && is_wanted(num_states_ + i);
    if (const auto row = stacked ? row_of(step) : std::nullopt) {
      select_step(views.next, context_.out(num_states_ + i), *row);
    } else if (stacked) {
      const std::int64_t kept = *std::ranges::lower_bound(memory_.stored, step);
      views.next = views.between[(kept - step + 1) % 2];
    } else {
      views.next = views.between[(length_ - step) % 2];
    }
  }

  // Whoever still holds memory keeps others from writing there.
  void let_go() {
    for (StateViews& views : memory_.states) {
      for (Tensor* view : {&views.now, &views.next, &views.between[0], &views.between[1]}) {
        view->drop_memory();
      }
    }
    drop_memory(memory_.xs);
    drop_memory(memory_.ys);
  }

  void take_last(int i) {
    Tensor& out = context_.out(i);
    if (!out.defined()) {
      out = context_.device->clone(state(i).now);
    } else if (length_ == 0) {
      context_.device->copy(out, state(i).now);
    }
  }

  KernelContext& context_;
  ChainMemory& memory_;
  int num_states_, num_xs_;
  std::int64_t length_, slots_;
  bool reverse_;
};

}  // namespace

void chain_reference(KernelContext& context) { ChainRun(context).run(); }

WorkspaceSize chain_workspace(const KernelContext& context) {
  std::size_t bytes = 0;
  for (int i = 0; i < static_cast<int>(context.attr<std::int64_t>("states")); ++i) {
    bytes += static_cast<std::size_t>(StateOutputs(context, i).spares()) *
             Pieces::bytes_for(context.in(i));
  }
  return {bytes};
}

}  // namespace antichain
