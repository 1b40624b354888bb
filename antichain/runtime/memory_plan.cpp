#include "antichain/runtime/memory_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "antichain/runtime/memory_packers.h"

namespace antichain {

namespace {

// Pairs of values that may be compared for one plan; a pair takes about a nanosecond.
constexpr std::size_t kBudget = 30'000'000;
// How often the values at the top are moved to the front of the order.
constexpr int kImprovements = 8;
// A plan that exceeds the bound by no more than this part of it is not improved any further.
constexpr std::size_t kSlack = 128;

using Order = std::vector<std::size_t>;

Order sorted_by(std::span<const Lifetime> lifetimes,
                const std::function<double(const Lifetime&)>& importance) {
  Order order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> keys;
  keys.reserve(lifetimes.size());
  for (const Lifetime& lifetime : lifetimes) {
    keys.push_back(importance(lifetime));
  }
  std::ranges::stable_sort(order, std::greater<>(), [&keys](std::size_t i) { return keys[i]; });
  return order;
}

// Puts the values that end at the top first: they are the ones that found no place (squeaky wheel
// optimisation, Joslin and Clements, 1999).
void move_top_to_front(std::span<const Lifetime> lifetimes, const MemoryPlan& plan, Order& order) {
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
    return plan.offsets[i] + aligned_bytes(lifetimes[i]) == plan.bytes;
  });
}

}  // namespace

std::size_t live_bytes_bound(std::span<const Lifetime> lifetimes) {
  std::size_t steps = 0;
  for (const Lifetime& lifetime : lifetimes) {
    steps = std::max(steps, lifetime.last + 1);
  }
  std::vector<std::ptrdiff_t> changes(steps + 1);
  for (const Lifetime& lifetime : lifetimes) {
    changes[lifetime.first] += static_cast<std::ptrdiff_t>(aligned_bytes(lifetime));
    changes[lifetime.last + 1] -= static_cast<std::ptrdiff_t>(aligned_bytes(lifetime));
  }
  std::ptrdiff_t now = 0, most = 0;
  for (std::ptrdiff_t change : changes) {
    now += change;
    most = std::max(most, now);
  }
  return static_cast<std::size_t>(most);
}

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
  const std::size_t bound = live_bytes_bound(lifetimes);
  MemoryPlan best = pack_forward(lifetimes);
  const auto done = [&] { return best.bytes <= bound + bound / kSlack; };
  const auto keep_smaller = [&best](MemoryPlan plan) {
    if (plan.bytes < best.bytes) {
      best = std::move(plan);
    }
  };
  if (!done()) {
    keep_smaller(pack_backward(lifetimes));
  }
  const auto bytes = [](const Lifetime& value) { return static_cast<double>(value.bytes); };
  const auto length = [](const Lifetime& value) {
    return static_cast<double>(value.last - value.first + 1);
  };
  const std::vector<std::function<double(const Lifetime&)>> importances = {
      bytes, [&](const Lifetime& value) { return bytes(value) * length(value); }, length};
  PriorityPacker packer(lifetimes, kBudget);
  for (const auto& importance : importances) {
    if (done()) {
      return best;
    }
    Order order = sorted_by(lifetimes, importance);
    for (int round = 0; round < kImprovements && !done(); ++round) {
      std::optional<MemoryPlan> plan = packer.pack(order);
      if (!plan) {
        return best;
      }
      move_top_to_front(lifetimes, *plan, order);
      keep_smaller(std::move(*plan));
    }
  }
  return best;
}

}  // namespace antichain
