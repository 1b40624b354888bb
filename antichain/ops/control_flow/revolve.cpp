#include "antichain/ops/control_flow/revolve.h"

#include <algorithm>
#include <limits>

#include "antichain/base/error.h"

namespace antichain {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

__extension__ using Wide = __int128;

// C(a + i, i) from C(a + i - 1, i - 1), or the largest integer where it is more.
std::int64_t next_binomial(std::int64_t previous, std::int64_t a, std::int64_t i) {
  const Wide result = Wide{previous} * (a + i) / i;
  return result > kMost ? kMost : static_cast<std::int64_t>(result);
}

// How far to go before the next slot is filled, when `slots` are free or hold where we stand. With
// r evaluations of the steps behind that place and r - 1 of those before it, the total is least
// (Griewank and Walther, 2000, section 3); of the choices, the one that goes furthest.
std::int64_t distance_to_next_slot(std::int64_t steps, std::int64_t slots) {
  const std::int64_t r = evaluations_per_step(steps, slots);
  return std::min(reversible_steps(slots, r - 1), steps - reversible_steps(slots - 1, r - 1));
}

}  // namespace

std::int64_t reversible_steps(std::int64_t slots, std::int64_t evaluations) {
  const std::int64_t few = std::min(slots, evaluations), many = std::max(slots, evaluations);
  std::int64_t result = 1;
  for (std::int64_t i = 1; i <= few && result < kMost; ++i) {
    result = next_binomial(result, many, i);
  }
  return result;
}

std::int64_t evaluations_per_step(std::int64_t steps, std::int64_t slots) {
  std::int64_t evaluations = 0;
  for (std::int64_t reach = 1; reach < steps;) {
    ++evaluations;
    reach = next_binomial(reach, slots, evaluations);
  }
  return evaluations;
}

std::int64_t total_evaluations(std::int64_t steps, std::int64_t slots) {
  // Griewank and Walther, 2000, equation (3): t = r * steps - C(slots + r, r - 1).
  const std::int64_t r = evaluations_per_step(steps, slots);
  return r == 0 ? 0 : r * steps - reversible_steps(slots + 1, r - 1);
}

std::int64_t slots_needed(std::int64_t steps, std::int64_t evaluations) {
  std::int64_t low = 1, high = std::max<std::int64_t>(1, steps);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (reversible_steps(middle, evaluations) >= steps) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Revolve::Revolve(std::int64_t steps, std::int64_t slots) : steps_(steps), slots_(slots) {
  ensure(steps >= 0 && slots >= 1, "{} steps cannot be reversed with {} slots", steps, slots);
  filled_.reserve(static_cast<std::size_t>(std::min(slots, steps + 1)));
  restart();
}

void Revolve::restart() {
  end_ = steps_;
  filled_.assign(1, 0);
}

std::optional<ReplayAction> Revolve::next() {
  while (filled_.size() > 1 && filled_.back() >= end_) {
    filled_.pop_back();
  }
  if (end_ == 0) {
    return std::nullopt;
  }
  const auto top = static_cast<std::int64_t>(filled_.size()) - 1;
  const std::int64_t from = filled_.back(), left = end_ - from;
  const std::int64_t slots = slots_ - top;  // those that are free, and the one we start from
  if (left == 1 || slots == 1) {
    --end_;
    return ReplayAction{.source = top, .from = from, .to = end_};
  }
  const std::int64_t to = from + distance_to_next_slot(left, slots);
  filled_.push_back(to);
  return ReplayAction{.source = top, .from = from, .to = to, .target = top + 1};
}

std::vector<std::int64_t> first_stored(std::int64_t steps, std::int64_t slots) {
  std::vector<std::int64_t> stored;
  Revolve schedule(steps, slots);
  for (auto action = schedule.next(); action && action->target != ReplayAction::kReverse;
       action = schedule.next()) {
    stored.push_back(action->to);
  }
  return stored;
}

}  // namespace antichain
