// Values that outlive a run: parameters, optimiser moments, running statistics.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "antichain/tensor/tensor_memory.h"

namespace antichain {

/// Holds tensors by name. Graphs of one session that use the same name share the value. A value
/// lies where it was used last: in the memory of the host or of a backend, which must outlive the
/// store.
class StateStore {
 public:
  using Values = std::map<std::string, Tensor, std::less<>>;

  bool contains(std::string_view name) const { return states_.find(name) != states_.end(); }
  /// Returns the value in host memory; throws InvalidArgument when there is none of that name.
  Tensor get(std::string_view name) const;
  /// Returns all values in host memory.
  Values all() const;
  /// Sets or replaces a value. Earlier readers keep the tensor they have.
  void set(std::string_view name, const Tensor& value);

  /// Returns the value, which lies in this memory from now on.
  const Tensor& get(std::string_view name, const TensorMemory& memory);
  /// Replaces a value by a new one of the same kind, which `compute(old, next)` writes element by
  /// element: in place when nobody else holds the value, otherwise into memory that is kept for
  /// this. Returns the new value. Different values may be updated at the same time.
  template <class F>
  const Tensor& update(std::string_view name, F&& compute,
                       const TensorMemory& memory = host_memory()) {
    State& state = brought_to(name, memory);
    if (sole_owner(state.value.buffer())) {
      compute(std::as_const(state.value), state.value);
    } else {
      make_spare(state);
      compute(std::as_const(state.value), state.spare);
      std::swap(state.value, state.spare);
    }
    return state.value;
  }
  /// Returns the value to have some of its elements changed where it lies. Who else holds it keeps
  /// it: then this is a copy. Different values may be modified at the same time.
  const Tensor& modify(std::string_view name, const TensorMemory& memory = host_memory());

 private:
  struct State {
    Tensor value;
    Tensor spare;  // what an earlier update has replaced
    const TensorMemory* memory = &host_memory();
  };
  template <class States>
  static auto& find(States& states, std::string_view name) {
    const auto found = states.find(name);
    require(found != states.end(), "there is no state called '{}'", name);
    return found->second;
  }
  State& brought_to(std::string_view name, const TensorMemory& memory);
  static void make_spare(State& state);

  std::map<std::string, State, std::less<>> states_;
};

}  // namespace antichain
