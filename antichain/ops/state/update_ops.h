// Rules of optimisers as ops: each changes a parameter and its buffers in one pass over memory.
//
// Inputs: gradient, numbers (f64: factor of the gradient, its largest absolute value, then those of
// the rule, see antichain/ops/state/update_rules.h) and a bool that says whether to do anything at
// all. An op may do so for several parameters of one element type: their gradients come first, each
// attribute names a state of every parameter, and there is an output for each.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/state_store.h"
#include "antichain/ops/operand.h"

namespace antichain {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// What an update does with the gradient before its rule sees it, and when it is done.
struct GradientUse {
  Var when;                 // bool
  Var scale;                // f64: a factor
  double limit = kNoLimit;  // cuts what is larger, or smaller than -limit
};

/// Applies a rule of this family to states, by name: the one that the gradient belongs to, then the
/// rule's buffers. Returns the new value of the first.
Var update_states(const OpDef& rule, const std::vector<std::string>& states, Var gradient,
                  const GradientUse& use, const std::vector<Operand>& numbers);

/// Returns the states that an update changes, by parameter.
std::vector<std::vector<std::string>> updated_states(const Attrs& attrs);
/// Returns the attributes of an update that changes these.
Attrs update_attributes(const std::vector<std::vector<std::string>>& states);

/// Returns the element type of the buffers of a state of type `dtype`: 16 bits are too few to add
/// up small changes.
DType buffer_dtype(DType dtype);

const OpDef& accumulate_update_def();
const OpDef& descent_update_def();
const OpDef& momentum_update_def();
const OpDef& moments_update_def();
const OpDef& adam_update_def();
const OpDef& rmsprop_update_def();
const OpDef& rmsprop_momentum_update_def();
const OpDef& adagrad_update_def();

/// Memory of the states of one update: before and after, which may be the same.
struct UpdatedMemory {
  static constexpr std::size_t kMaxStates = 3;
  std::array<const void*, kMaxStates> before;
  std::array<void*, kMaxStates> after;
};

/// Calls change(memory) for the states of an update, on `device`, and returns the new value of the
/// first.
template <class F>
const Tensor& change_states(StateStore& store, std::span<const std::string> states, F&& change,
                            const TensorMemory& device = host_memory(), UpdatedMemory memory = {},
                            std::size_t next = 0) {
  const auto change_next = [&](const Tensor& before, const Tensor& after) {
    memory.before[next] = before.raw();
    memory.after[next] = after.raw();
    if (next + 1 < states.size()) {
      change_states(store, states, change, device, memory, next + 1);
    } else {
      change(memory);
    }
  };
  return store.update(states[next], change_next, device);
}

std::vector<const OpDef*> update_family();

}  // namespace antichain
