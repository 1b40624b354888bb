#include "antichain/backends/cuda/core/preparation.h"

#include <algorithm>

namespace antichain::cuda {

namespace {

double seconds_between(Preparation::Clock::time_point start, Preparation::Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

void Preparation::add(std::string_view what, Clock::time_point start, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  Sum& sum = sums_[std::string(what)];
  sum.first = sum.count == 0 ? start : std::min(sum.first, start);
  sum.last = sum.count == 0 ? end : std::max(sum.last, end);
  sum.seconds += seconds_between(start, end);
  ++sum.count;
}

std::vector<PreparedPart> Preparation::parts() const {
  const std::lock_guard lock(mutex_);
  std::vector<PreparedPart> parts;
  for (const auto& [what, sum] : sums_) {
    parts.push_back({.what = what,
                     .count = sum.count,
                     .seconds = sum.seconds,
                     .elapsed = seconds_between(sum.first, sum.last)});
  }
  return parts;
}

}  // namespace antichain::cuda
