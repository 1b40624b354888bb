#include "antichain/runtime/memory_plan.h"

#include <algorithm>
#include <map>
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

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
  MemoryPlan plan;
  Gaps gaps;
  using Ending = std::pair<std::size_t, std::size_t>;  // (last step, index)
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    while (!alive.empty() && alive.top().first < lifetimes[i].first) {
      const std::size_t ended = alive.top().second;
      gaps.give_back(plan.offsets[ended], aligned(lifetimes[ended].bytes));
      alive.pop();
    }
    if (lifetimes[i].bytes == 0) {
      plan.offsets.push_back(0);
      continue;
    }
    plan.offsets.push_back(gaps.take(aligned(lifetimes[i].bytes)));
    alive.emplace(lifetimes[i].last, i);
  }
  plan.bytes = gaps.end();
  return plan;
}

std::size_t live_bytes_bound(std::span<const Lifetime> lifetimes) {
  std::map<std::size_t, std::ptrdiff_t> changes;
  for (const Lifetime& lifetime : lifetimes) {
    changes[lifetime.first] += static_cast<std::ptrdiff_t>(aligned(lifetime.bytes));
    changes[lifetime.last + 1] -= static_cast<std::ptrdiff_t>(aligned(lifetime.bytes));
  }
  std::ptrdiff_t now = 0, most = 0;
  for (const auto& change : changes) {
    now += change.second;
    most = std::max(most, now);
  }
  return static_cast<std::size_t>(most);
}

}  // namespace antichain
