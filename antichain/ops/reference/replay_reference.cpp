#include "antichain/ops/reference/replay_reference.h"

#include <algorithm>
#include <optional>

#include "antichain/ops/control_flow/replayed_chain.h"
#include "antichain/ops/control_flow/revolve.h"
#include "antichain/ops/reference/step_memory.h"

namespace antichain {

namespace {

using Tensors = std::vector<Tensor>;

// What is kept from run to run. A value is in one of two places while it is stepped: in its target
// or in a spare piece of the workspace. The arguments point at the elements of these lists.
struct ReplayMemory {
  StepNumber step;
  std::optional<Revolve> schedule;
  Tensors states, next_states, state_targets, state_spares;
  Tensors carried, next_carried, carried_spares;
  Tensors xs, sequences, ys;
  std::vector<int> partners;  // by state
  std::vector<const Tensor*> forward_arguments, back_arguments;
  std::vector<Tensor*> forward_results, back_results;
};

// States are stepped while no carried value moves: where the next one will go is free then. For
// each state, a carried value of its type whose place it may use, or -1.
std::vector<int> find_partners(const KernelContext& context, const ReplayLayout& layout) {
  std::vector<int> partners;
  for (int i = 0; i < layout.states; ++i) {
    const Tensor& state = context.in(layout.first_initial() + i);
    int partner = -1;
    for (int k = 0; k < layout.carried && partner < 0; ++k) {
      const Tensor& carried = context.in(layout.first_carried() + k);
      const bool fits = carried.dtype() == state.dtype() && carried.shape() == state.shape();
      partner = fits && std::ranges::count(partners, k) == 0 ? k : -1;
    }
    partners.push_back(partner);
  }
  return partners;
}

class Replay {
 public:
  explicit Replay(KernelContext& context)
      : context_(context),
        layout_(*context.attrs),
        memory_(context.kept<ReplayMemory>()),
        length_(context.size("length")),
        slots_(context.attr<std::int64_t>("slots")),
        reverse_(context.attr<bool>("reverse")),
        first_row_(layout_.first_row(context.num_outputs())) {
    if (!memory_.schedule) {
      prepare();
    }
  }

  void run() {
    take_memory();
    memory_.schedule->restart();
    bool in_the_middle = false;  // before the first step is reversed, the chain has run itself
    while (const std::optional<ReplayAction> action = memory_.schedule->next()) {
      const bool reverses = action->target == ReplayAction::kReverse;
      if (in_the_middle) {
        advance(*action);
      } else if (reverses) {
        in_the_middle = true;
        point_at(memory_.states, action->from == action->to ? action->source : slots_);
      }
      if (reverses) {
        reverse_step(action->to);
      }
    }
    let_go();
  }

 private:
  // Sizes the lists and connects the arguments, which are always the same tensors.
  void prepare() {
    ReplayMemory& m = memory_;
    m.schedule.emplace(length_, slots_);
    m.partners = find_partners(context_, layout_);
    for (Tensors* some : {&m.states, &m.next_states, &m.state_targets, &m.state_spares}) {
      some->resize(count(layout_.states));
    }
    for (Tensors* some : {&m.carried, &m.next_carried, &m.carried_spares}) {
      some->resize(count(layout_.carried));
    }
    m.xs.resize(count(layout_.xs));
    m.sequences.resize(count(layout_.sequences));
    m.ys.resize(count(first_row_ - layout_.first_y()));
    const auto append = [](auto& pointers, auto& tensors) {
      for (Tensor& tensor : tensors) {
        pointers.push_back(&tensor);
      }
    };
    m.forward_arguments = {m.step.tensor()};
    append(m.forward_arguments, m.states);
    append(m.forward_arguments, m.xs);
    append(m.forward_results, m.next_states);
    m.back_arguments = {m.step.tensor()};
    append(m.back_arguments, m.carried);
    append(m.back_arguments, m.states);
    append(m.back_arguments, m.sequences);
    append(m.back_results, m.next_carried);
    for (std::size_t i = 0; i < m.ys.size(); ++i) {
      const bool wanted = context_.wanted[count(layout_.first_y()) + i];
      m.back_results.push_back(wanted ? &m.ys[i] : nullptr);
    }
    const auto given = [&](int first, int end) {
      return context_.inputs.subspan(count(first), count(end - first));
    };
    const auto forward = given(layout_.first_captured(), layout_.first_carried());
    m.forward_arguments.insert(m.forward_arguments.end(), forward.begin(), forward.end());
    const auto back = given(layout_.first_back_captured(), context_.num_inputs());
    m.back_arguments.insert(m.back_arguments.end(), back.begin(), back.end());
  }

  static std::size_t count(int number) { return static_cast<std::size_t>(number); }
  const Tensor& row(int state) const { return context_.out(first_row_ + state); }
  std::int64_t position_of(std::int64_t n) const { return reverse_ ? length_ - 1 - n : n; }

  void take_memory() {
    Pieces pieces(*context_.workspace);
    reversed_ = 0;
    for (int i = 0; i < layout_.carried; ++i) {
      const Tensor &start = context_.in(layout_.first_carried() + i), &end = context_.out(i);
      Tensor& spare = memory_.carried_spares[count(i)];
      pieces.place(spare, start);
      memory_.carried[count(i)] = start;
      const bool same_memory = start.raw() == end.raw();
      if (same_memory && length_ % 2 == 1) {  // the first step must not write where it reads
        context_.device->copy(spare, start);
        memory_.carried[count(i)] = spare;
      } else if (!same_memory && length_ == 0) {
        context_.device->copy(end, start);
      }
    }
    for (int i = 0; i < layout_.states; ++i) {
      if (memory_.partners[count(i)] < 0) {
        pieces.place(memory_.state_spares[count(i)], context_.in(layout_.first_initial() + i));
      }
      if (row(i).raw() != context_.in(i).raw()) {
        context_.device->copy(row(i), context_.in(i));
      }
    }
  }

  // The slot that comes behind all others is the last row: working memory.
  void point_at(Tensors& views, std::int64_t slot) {
    for (int i = 0; i < layout_.states; ++i) {
      if (slot == 0) {
        views[count(i)] = context_.in(layout_.first_initial() + i);
      } else {
        select_step(views[count(i)], row(i), slot - 1);
      }
    }
  }

  // Carried values go back and forth between the outputs, where the last ones belong, and spares.
  const Tensor& next_place(std::size_t carried) const {
    const bool into_output = (length_ - reversed_) % 2 == 1;
    return into_output ? context_.out(static_cast<int>(carried)) : memory_.carried_spares[carried];
  }

  void advance(const ReplayAction& action) {
    ReplayMemory& m = memory_;
    point_at(m.states, action.source);
    if (action.from == action.to) {
      return;
    }
    point_at(m.state_targets, action.target == ReplayAction::kReverse ? slots_ : action.target);
    for (std::size_t i = 0; i < m.partners.size(); ++i) {
      if (m.partners[i] >= 0) {
        m.state_spares[i] = next_place(count(m.partners[i]));
      }
    }
    for (std::int64_t n = action.from; n < action.to; ++n) {
      const bool into_target = (action.to - n) % 2 == 1;  // so that the last one is there
      m.next_states = into_target ? m.state_targets : m.state_spares;
      select_slices(m.xs, layout_.first_x(), n);
      context_.run_region(0, m.forward_arguments, m.forward_results);
      std::ranges::swap_ranges(m.states, m.next_states);
    }
  }

  void reverse_step(std::int64_t n) {
    ReplayMemory& m = memory_;
    select_slices(m.sequences, layout_.first_sequence(), n);
    for (std::size_t i = 0; i < m.ys.size(); ++i) {
      if (m.back_results[m.carried.size() + i] != nullptr) {
        select_step(m.ys[i], context_.out(layout_.first_y() + static_cast<int>(i)), position_of(n));
      }
    }
    for (std::size_t i = 0; i < m.carried.size(); ++i) {
      m.next_carried[i] = next_place(i);
    }
    context_.run_region(1, m.back_arguments, m.back_results);
    ++reversed_;
    std::ranges::swap_ranges(m.carried, m.next_carried);
  }

  void select_slices(Tensors& views, int first_input, std::int64_t n) {
    memory_.step.set(position_of(n), length_, *context_.device);
    for (std::size_t i = 0; i < views.size(); ++i) {
      select_step(views[i], context_.in(first_input + static_cast<int>(i)), position_of(n));
    }
  }

  void let_go() {
    ReplayMemory& m = memory_;
    for (Tensors* views : {&m.states, &m.next_states, &m.state_targets, &m.state_spares, &m.carried,
                           &m.next_carried, &m.carried_spares, &m.xs, &m.sequences, &m.ys}) {
      drop_memory(*views);
    }
  }

  KernelContext& context_;
  ReplayLayout layout_;
  ReplayMemory& memory_;
  std::int64_t length_, slots_;
  bool reverse_;
  int first_row_;
  std::int64_t reversed_ = 0;
};

}  // namespace

void replay_reference(KernelContext& context) { Replay(context).run(); }

WorkspaceSize replay_workspace(const KernelContext& context) {
  const ReplayLayout layout(*context.attrs);
  std::size_t carried = 0, states = 0;
  for (int i = 0; i < layout.carried; ++i) {
    carried += Pieces::bytes_for(context.in(layout.first_carried() + i));
  }
  const std::vector<int> partners = find_partners(context, layout);
  for (int i = 0; i < layout.states; ++i) {
    states += partners[static_cast<std::size_t>(i)] >= 0
                  ? 0
                  : Pieces::bytes_for(context.in(layout.first_initial() + i));
  }
  // No states are stepped while one step is reversed.
  return {carried + states, {carried + states, carried}};
}

}  // namespace antichain
