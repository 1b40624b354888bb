// Values that outlive a run: parameters, optimiser moments, running statistics.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "antichain/tensor/tensor_memory.h"

namespace antichain {

/// How the names of states begin that hold the newest number of a series which a graph measures
/// (with_report, antichain/ops/state/reports.h).
inline constexpr std::string_view kReportPrefix = "report/";

/// Holds tensors by name. Graphs of one session that use the same name share the value. A value
/// lies where it was used last: in the memory of the host or of a backend, which must outlive the
/// store. Compiled graphs declare the type and shape that they count on, and no value of another
/// comes in from then on, on whatever way.
class StateStore {
 public:
  using Values = std::map<std::string, Tensor, std::less<>>;
  /// Whether values of states that this store does not know are taken too, for graphs to come.
  enum class Unknown { refused, taken };

  bool contains(std::string_view name) const { return states_.find(name) != states_.end(); }
  /// Returns the value in host memory; throws InvalidArgument when there is none of that name.
  Tensor get(std::string_view name) const;
  /// Returns all values in host memory but derived ones: what is worth being saved.
  Values all() const;
  /// Returns the names that begin like that, of derived values, too.
  std::vector<std::string> names(std::string_view prefix = {}) const;
  /// Returns how much memory all values take.
  std::size_t bytes() const;
  /// Sets or replaces a value. Earlier readers keep the tensor they have. Throws InvalidArgument
  /// when a graph counts on another type or shape.
  void set(std::string_view name, const Tensor& value);
  /// Says that a graph counts on this type and shape. Throws InvalidArgument when another graph
  /// counts on others, or the value has others.
  void declare(std::string_view name, DType dtype, const Shape& shape);
  /// Throws InvalidArgument, naming the first state that does not fit, unless there is a value for
  /// every state of the store, of its type and shape; derived ones may be missing.
  void require_fits(const Values& values, Unknown unknown = Unknown::refused) const;
  /// Replaces all values at once, or none when they do not fit, and derives others from them.
  void set_all(const Values& values, Unknown unknown = Unknown::refused);

  /// Computes values of these names, which follow from other states.
  using Derive = std::function<std::vector<Tensor>()>;
  /// Sets values that can be computed anew at any time.
  void set_derived(const std::vector<std::string>& names, const Derive& derive);
  /// Computes derived values anew; call it when others have been set.
  void derive_again();

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
    bool is_derived = false;
  };
  struct Derived {
    std::vector<std::string> names;
    Derive derive;
  };
  struct Type {
    DType dtype;
    Shape shape;
  };
  void require_declared(std::string_view name, const Tensor& value) const;
  template <class States>
  static auto& find(States& states, std::string_view name) {
    const auto found = states.find(name);
    require(found != states.end(), "there is no state called '{}'", name);
    return found->second;
  }
  State& brought_to(std::string_view name, const TensorMemory& memory);
  static void make_spare(State& state);

  std::map<std::string, State, std::less<>> states_;
  std::vector<Derived> derived_;  // in the order in which they depend on each other
  std::map<std::string, Type, std::less<>> declared_;
};

}  // namespace antichain
