#include "antichain/runtime/memory_packers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "antichain/tensor/buffer.h"

namespace antichain {

namespace {

// The gaps in a piece of memory that grows at its end.
class Gaps {
 public:
  std::size_t take(std::size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      return grow(bytes);
    }
    const auto [size, offset] = *fit;
    remove(offset, size);
    if (size > bytes) {
      add(offset + bytes, size - bytes);
    }
    return offset;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && offset + bytes == next->first) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before->first, before->second);
      }
    }
    add(offset, bytes);
  }

  std::size_t end() const { return end_; }

 private:
  std::size_t grow(std::size_t bytes) {
    std::size_t offset = end_;
    if (!by_offset_.empty()) {
      const auto last = std::prev(by_offset_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        remove(last->first, last->second);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void add(std::size_t offset, std::size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::size_t offset, std::size_t bytes) {
    by_size_.erase({bytes, offset});
    by_offset_.erase(offset);
  }

  std::map<std::size_t, std::size_t> by_offset_;           // offset -> bytes
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // (bytes, offset)
  std::size_t end_ = 0;
};

}  // namespace

std::size_t aligned_bytes(const Lifetime& lifetime) { return aligned(lifetime.bytes); }

MemoryPlan pack_forward(std::span<const Lifetime> lifetimes) {
  MemoryPlan plan;
  plan.offsets.reserve(lifetimes.size());
  Gaps gaps;
  using Ending = std::pair<std::size_t, std::size_t>;  // (last step, index)
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    while (!alive.empty() && alive.top().first < lifetimes[i].first) {
      const std::size_t ended = alive.top().second;
      gaps.give_back(plan.offsets[ended], aligned_bytes(lifetimes[ended]));
      alive.pop();
    }
    if (lifetimes[i].bytes == 0) {
      plan.offsets.push_back(0);
      continue;
    }
    plan.offsets.push_back(gaps.take(aligned_bytes(lifetimes[i])));
    alive.emplace(lifetimes[i].last, i);
  }
  plan.bytes = gaps.end();
  return plan;
}

MemoryPlan pack_backward(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return lifetimes[i].last; });
  const std::size_t end = lifetimes.empty() ? 0 : lifetimes[order[0]].last;
  std::vector<Lifetime> mirrored;
  mirrored.reserve(order.size());
  for (std::size_t i : order) {
    mirrored.push_back({lifetimes[i].bytes, end - lifetimes[i].last, end - lifetimes[i].first});
  }
  const MemoryPlan packed = pack_forward(mirrored);
  MemoryPlan plan{std::vector<std::size_t>(order.size()), packed.bytes};
  for (std::size_t n = 0; n < order.size(); ++n) {
    plan.offsets[order[n]] = packed.offsets[n];
  }
  return plan;
}

std::optional<MemoryPlan> PriorityPacker::pack(std::span<const std::size_t> order) {
  struct Placed {
    std::size_t offset, end, first, last;
  };
  std::vector<Placed> placed;  // sorted by offset
  placed.reserve(order.size());
  MemoryPlan plan{std::vector<std::size_t>(lifetimes_.size()), 0};
  for (std::size_t i : order) {
    const Lifetime& value = lifetimes_[i];
    const std::size_t bytes = aligned_bytes(value);
    if (bytes == 0) {
      continue;
    }
    std::size_t offset = 0, looked_at = 0;
    for (const Placed& other : placed) {
      ++looked_at;
      if (other.last < value.first || value.last < other.first || other.end <= offset) {
        continue;
      }
      if (other.offset >= offset + bytes) {
        break;  // the gap before it is large enough
      }
      offset = other.end;
    }
    if (looked_at > budget_) {
      budget_ = 0;
      return std::nullopt;
    }
    budget_ -= looked_at;
    const auto behind = std::ranges::upper_bound(placed, offset, {}, &Placed::offset);
    placed.insert(behind, {offset, offset + bytes, value.first, value.last});
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
  }
  return plan;
}

}  // namespace antichain
