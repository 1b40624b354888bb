#include "antichain/passes/memory/memory_budget.h"

#include <algorithm>
#include <optional>

#include "antichain/base/byte_size.h"
#include "antichain/ops/control_flow/revolve.h"
#include "antichain/passes/memory/rematerialise.h"
#include "antichain/passes/memory/rematerialise_chains.h"

namespace antichain {

namespace {

using Slots = std::vector<std::int64_t>;

// Returns the smallest number in [low, high] for which `holds` holds; it must hold for `high`.
template <class Predicate>
std::int64_t first_that(std::int64_t low, std::int64_t high, const Predicate& holds) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::string text_of(std::size_t bytes) { return bytes_text(static_cast<std::int64_t>(bytes)); }

class ChainSlots {
 public:
  ChainSlots(const GraphCopy& program, const MemoryBudget& budget)
      : program_(program), budget_(budget) {
    for (ChainPair& pair : find_chain_pairs(program)) {
      if (pair.length().is_bound(budget.sizes) && pair.length().evaluate(budget.sizes) > 1) {
        pairs_.push_back(std::move(pair));
      }
    }
    std::ranges::stable_sort(pairs_, std::greater<>(),
                             [this](const ChainPair& pair) { return length_of(pair); });
  }

  GraphCopy with(const Slots& slots) const { return replay_chains(program_, pairs_, slots); }
  bool any() const { return !pairs_.empty(); }
  /// Returns the fewest slots that are possible.
  Slots fewest() const { return Slots(pairs_.size(), 1); }

  /// Returns the slots that make the fastest program that fits; fewest() must fit.
  Slots fastest() const {
    const std::int64_t longest = pairs_.empty() ? 1 : length_of(pairs_[0]);
    const std::int64_t evaluations =
        first_that(1, longest, [this](std::int64_t number) { return fits(slots_for(number)); });
    Slots slots = slots_for(evaluations);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      // One more is the first that does not fit.
      const std::int64_t most = std::max(slots[i], length_of(pairs_[i]) - 1);
      slots[i] = first_that(slots[i], most, [&](std::int64_t number) {
        Slots tried = slots;
        tried[i] = number + 1;
        return !fits(tried);
      });
    }
    return slots;
  }

 private:
  std::int64_t length_of(const ChainPair& pair) const {
    return pair.length().evaluate(budget_.sizes);
  }
  Slots slots_for(std::int64_t evaluations) const {
    Slots slots;
    for (const ChainPair& pair : pairs_) {
      slots.push_back(slots_needed(length_of(pair), evaluations));
    }
    return slots;
  }
  bool fits(const Slots& slots) const { return budget_.needed(with(slots)) <= budget_.bytes; }

  const GraphCopy& program_;
  const MemoryBudget& budget_;
  std::vector<ChainPair> pairs_;  // the longest first
};

// Runs stages of the program again where that makes it fit; nothing when it cannot. `least` becomes
// the fewest bytes that were found.
std::optional<GraphCopy> fit_stages(const GraphCopy& program, const MemoryBudget& budget,
                                    std::size_t& least) {
  const StagedProgram stages = split_into_stages(program, budget.sizes, budget.seconds);
  if (stages.costs.empty()) {
    return std::nullopt;
  }
  const Rotor rotor(stages.costs);
  const auto with = [&](std::int64_t level) {
    return rematerialise(program, stages, rotor.schedule(static_cast<std::size_t>(level)));
  };
  const auto fits = [&](std::int64_t level) {
    const std::size_t bytes = budget.needed(with(level));
    least = std::min(least, bytes);
    return bytes <= budget.bytes;
  };
  // The table knows nothing of what kernels work in, nor of gaps: a little more by the table may be
  // a little less in truth.
  auto low = static_cast<std::int64_t>(rotor.least_level());
  const auto high = static_cast<std::int64_t>(rotor.levels());
  const std::int64_t last_tried = std::min(high, 2 * low + 1);
  while (!fits(low)) {
    low += std::max<std::int64_t>(1, low / 8);
    if (low > last_tried) {
      return std::nullopt;
    }
  }
  return with(first_that(low, high, [&](std::int64_t level) { return !fits(level + 1); }));
}

}  // namespace

GraphCopy fit_memory(GraphCopy program, const MemoryBudget& budget) {
  std::size_t least = budget.needed(program);
  if (least <= budget.bytes) {
    return program;
  }
  const ChainSlots chains(program, budget);
  if (chains.any()) {
    least = std::min(least, budget.needed(chains.with(chains.fewest())));
    if (least <= budget.bytes) {
      return chains.with(chains.fastest());
    }
    program = chains.with(chains.fewest());
  }
  std::optional<GraphCopy> fitted = fit_stages(program, budget, least);
  require(fitted.has_value(),
          "memory_budget: nothing fits into {}; the least that would is {} ({} bytes)",
          text_of(budget.bytes), text_of(least), least);
  return std::move(*fitted);
}

}  // namespace antichain
