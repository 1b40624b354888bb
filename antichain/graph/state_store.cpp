#include "antichain/graph/state_store.h"

#include <atomic>
#include <mutex>

namespace antichain {

Tensor StateStore::get(std::string_view name) const {
  const State& state = find(states_, name);
  return state.memory->to_host(state.value);
}

StateStore::Values StateStore::all() const {
  Values values;
  for (const auto& [name, state] : states_) {
    values.emplace(name, state.memory->to_host(state.value));
  }
  return values;
}

void StateStore::set(std::string_view name, const Tensor& value) {
  states_.insert_or_assign(std::string(name), State{.value = value.contiguous()});
}

const Tensor& StateStore::get(std::string_view name, const TensorMemory& memory) {
  return brought_to(name, memory).value;
}

const Tensor& StateStore::modify(std::string_view name, const TensorMemory& memory) {
  State& state = brought_to(name, memory);
  if (!sole_owner(state.value.buffer())) {
    make_spare(state);
    memory.copy(state.spare, state.value);
    std::swap(state.value, state.spare);
  }
  return state.value;
}

// Several threads may read a state at once, and the first of them moves it.
StateStore::State& StateStore::brought_to(std::string_view name, const TensorMemory& memory) {
  State& state = find(states_, name);
  const std::atomic_ref<const TensorMemory*> lies_in(state.memory);
  const auto is_here = [&] { return lies_in.load()->device() == memory.device(); };
  if (!is_here()) {
    static std::mutex moves;  // rare, so one for all
    const std::lock_guard<std::mutex> lock(moves);
    if (!is_here()) {
      state.value = memory.to_device(lies_in.load()->to_host(state.value));
      state.spare = Tensor();
      lies_in.store(&memory);
    }
  }
  return state;
}

void StateStore::make_spare(State& state) {
  const Tensor &value = state.value, &spare = state.spare;
  const bool usable = spare.defined() && sole_owner(spare.buffer()) &&
                      spare.dtype() == value.dtype() && spare.shape() == value.shape();
  if (!usable) {
    state.spare = state.memory->allocate(value.dtype(), value.shape());
  }
}

}  // namespace antichain
