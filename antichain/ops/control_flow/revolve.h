// When to store and when to recompute: how a chain of equal steps is reversed with few stored
// states (Griewank and Walther, 2000, "Algorithm 799: Revolve").
//
// A slot holds the states before one step. Slot 0 holds those before the first step, with which the
// chain starts; the others are filled, freed and filled again on the way back. The states that are
// being stepped forward, or from which a step is reversed at once, are in working memory and in no
// slot. With s slots and at most r forward evaluations of each step, C(s + r, r) steps can be
// reversed. Reversing a step is not counted as an evaluation of it, whatever it recomputes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace antichain {

/// Returns how many steps can be reversed with so many slots and evaluations of each step:
/// C(slots + evaluations, evaluations), or the largest integer where that is more.
std::int64_t reversible_steps(std::int64_t slots, std::int64_t evaluations);
/// Returns how often the step that is evaluated most often is evaluated.
std::int64_t evaluations_per_step(std::int64_t steps, std::int64_t slots);
/// Returns the least number of evaluations of all steps together with which the last step can be
/// reversed, then the one before it, to the first.
std::int64_t total_evaluations(std::int64_t steps, std::int64_t slots);
/// Returns the fewest slots with which no step is evaluated more often.
std::int64_t slots_needed(std::int64_t steps, std::int64_t evaluations);

/// One thing to do: evaluate steps `from` .. `to` - 1 on the states in a slot, then keep the result
/// or reverse a step from it.
struct ReplayAction {
  static constexpr std::int64_t kReverse = -1;
  std::int64_t source = 0;  // the slot with the states before step `from`
  std::int64_t from = 0, to = 0;
  std::int64_t target = kReverse;  // the slot for the states before step `to`, or: reverse it now
};

/// Walks through the schedule with the fewest evaluations, an action at a time.
class Revolve {
 public:
  /// Takes at least one slot and no step or more.
  Revolve(std::int64_t steps, std::int64_t slots);
  /// Returns what to do next; nothing once all steps are reversed.
  std::optional<ReplayAction> next();
  /// Goes back to the first action.
  void restart();

 private:
  std::int64_t steps_, slots_;
  std::int64_t end_ = 0;              // steps from here on are reversed
  std::vector<std::int64_t> filled_;  // by slot: the step whose states it holds
};

/// Returns the steps whose states the slots 1, 2, ... hold when the last step is reversed first.
std::vector<std::int64_t> first_stored(std::int64_t steps, std::int64_t slots);

}  // namespace antichain
