#include "antichain/graph/state_store.h"

#include <atomic>
#include <mutex>

namespace antichain {

namespace {

std::string type_text(DType dtype, const Shape& shape) {
  return std::string(name(dtype)) + to_string(shape);
}

}  // namespace

Tensor StateStore::get(std::string_view name) const {
  const State& state = find(states_, name);
  return state.memory->to_host(state.value);
}

StateStore::Values StateStore::all() const {
  Values values;
  for (const auto& [name, state] : states_) {
    if (!state.is_derived) {
      values.emplace(name, state.memory->to_host(state.value));
    }
  }
  return values;
}

std::vector<std::string> StateStore::names(std::string_view prefix) const {
  std::vector<std::string> found;
  for (auto at = states_.lower_bound(prefix); at != states_.end() && at->first.starts_with(prefix);
       ++at) {
    found.push_back(at->first);
  }
  return found;
}

std::size_t StateStore::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, state] : states_) {
    bytes += state.value.bytes();
  }
  return bytes;
}

void StateStore::set_derived(const std::vector<std::string>& names, const Derive& derive) {
  derived_.push_back({names, derive});
  const std::vector<Tensor> values = derive();
  for (std::size_t i = 0; i < names.size(); ++i) {
    set(names[i], values[i]);
    find(states_, names[i]).is_derived = true;
  }
}

void StateStore::derive_again() {
  const std::vector<Derived> all = std::exchange(derived_, {});
  for (const Derived& derived : all) {
    set_derived(derived.names, derived.derive);
  }
}

void StateStore::require_declared(std::string_view name, const Tensor& value) const {
  require(value.defined(), "state '{}' cannot be set to nothing", name);
  const auto type = declared_.find(name);
  require(type == declared_.end() ||
              (type->second.dtype == value.dtype() && type->second.shape == value.shape()),
          "state '{}' is {} in the graphs of this session, the value is {}", name,
          type == declared_.end() ? "" : type_text(type->second.dtype, type->second.shape),
          type_text(value.dtype(), value.shape()));
}

void StateStore::declare(std::string_view name, DType dtype, const Shape& shape) {
  const auto state = states_.find(name);
  require(state == states_.end() ||
              (state->second.value.dtype() == dtype && state->second.value.shape() == shape),
          "state '{}' is {} in this session, a graph declares {}", name,
          state == states_.end()
              ? ""
              : type_text(state->second.value.dtype(), state->second.value.shape()),
          type_text(dtype, shape));
  const Type& type = declared_.try_emplace(std::string(name), Type{dtype, shape}).first->second;
  require(type.dtype == dtype && type.shape == shape,
          "state '{}' is {} in one graph of this session and {} in another", name,
          type_text(type.dtype, type.shape), type_text(dtype, shape));
}

void StateStore::require_fits(const Values& values, Unknown unknown) const {
  for (const auto& [name, state] : states_) {
    const auto value = values.find(name);
    if (state.is_derived && value == values.end()) {
      continue;
    }
    require(value != values.end(), "there is no value for the state '{}' of {}", name,
            type_text(state.value.dtype(), state.value.shape()));
    require(value->second.defined() && value->second.dtype() == state.value.dtype() &&
                value->second.shape() == state.value.shape(),
            "state '{}' is {} in the graphs of this session, the value is {}", name,
            type_text(state.value.dtype(), state.value.shape()),
            value->second.defined() ? type_text(value->second.dtype(), value->second.shape())
                                    : "undefined");
  }
  for (const auto& [name, value] : values) {
    require(unknown == Unknown::taken || states_.contains(name),
            "there is a value for '{}', which is no state of this session", name);
    require_declared(name, value);
  }
}

void StateStore::set_all(const Values& values, Unknown unknown) {
  require_fits(values, unknown);
  for (const auto& [name, value] : values) {
    set(name, value);
  }
  derive_again();
}

void StateStore::set(std::string_view name, const Tensor& value) {
  require_declared(name, value);
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
