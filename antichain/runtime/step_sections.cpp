#include "antichain/runtime/step_sections.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace antichain {

namespace {

constexpr std::size_t kMostSteps = 256;   // of a section: what is looked at stays linear
constexpr double kMeetingSeconds = 5e-6;  // to start the threads and to wait for them
constexpr double kLeastGain = 2e-5;       // seconds
constexpr double kLeastShare = 0.15;      // of what the section takes one step after the other

// Steps from `first` on, and the parts that they fall into.
class Parts {
 public:
  Parts(std::span<const SectionStep> steps, std::size_t first) : steps_(steps), first_(first) {}

  std::size_t end() const { return first_ + parent_.size(); }

  void add_next() {
    const std::size_t n = parent_.size();
    const SectionStep& step = steps_[first_ + n];
    parent_.push_back(n);
    alone_.push_back(step.time.alone);
    for (const std::size_t needed : step.needs) {
      if (needed >= first_) {
        join(needed - first_, n);
      }
    }
    all_alone_ += step.time.alone;
    all_together_ += step.time.together;
    longest_part_ = std::max(longest_part_, alone_[root(n)]);
  }

  double serial_seconds() const { return all_together_; }
  /// Returns what could be saved at most: no lane is shorter than the longest part or the average.
  double most_gain(int lanes) const {
    return all_together_ - kMeetingSeconds - std::max(longest_part_, all_alone_ / lanes);
  }

  /// Deals the parts, longest first, each to the lane that ends first.
  std::vector<std::vector<std::size_t>> deal(int lanes) {
    std::vector<std::size_t> roots;
    for (std::size_t n = 0; n < parent_.size(); ++n) {
      if (root(n) == n) {
        roots.push_back(n);
      }
    }
    std::ranges::stable_sort(roots, std::greater<>(), [this](std::size_t n) { return alone_[n]; });
    std::vector<double> until(static_cast<std::size_t>(lanes), 0);
    std::unordered_map<std::size_t, std::size_t> lane_of;
    for (const std::size_t part : roots) {
      const auto lane = static_cast<std::size_t>(std::ranges::min_element(until) - until.begin());
      lane_of[part] = lane;
      until[lane] += alone_[part];
    }
    std::vector<std::vector<std::size_t>> dealt(until.size());
    for (std::size_t n = 0; n < parent_.size(); ++n) {
      dealt[lane_of[root(n)]].push_back(first_ + n);
    }
    std::erase_if(dealt, [](const auto& lane) { return lane.empty(); });
    return dealt;
  }

 private:
  std::size_t root(std::size_t n) {
    while (parent_[n] != n) {
      n = parent_[n] = parent_[parent_[n]];
    }
    return n;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    if (a != b) {
      parent_[b] = a;
      alone_[a] += alone_[b];
    }
  }

  std::span<const SectionStep> steps_;
  std::size_t first_;
  std::vector<std::size_t> parent_;
  std::vector<double> alone_;  // by root: seconds of the part
  double all_alone_ = 0, all_together_ = 0, longest_part_ = 0;
};

struct Candidate {
  std::size_t first, last;
  double gain;
};

// Where a section may begin: a step that does not need the one before it begins a branch beside
// everything behind what it needs.
std::vector<std::size_t> beginnings(std::span<const SectionStep> steps) {
  std::vector<std::size_t> result;
  std::size_t behind = 0;  // the last step that is by itself
  for (std::size_t n = 0; n < steps.size(); ++n) {
    if (steps[n].by_itself) {
      behind = n + 1;
      continue;
    }
    std::size_t first = behind;
    for (const std::size_t needed : steps[n].needs) {
      first = std::max(first, needed + 1);
    }
    if (steps[n].time.alone > 0 && first < n) {
      result.push_back(first);
    }
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Candidate best_from(std::span<const SectionStep> steps, std::size_t first, int lanes) {
  Candidate best{first, first, 0};
  Parts parts(steps, first);
  while (parts.end() < std::min(steps.size(), first + kMostSteps) &&
         !steps[parts.end()].by_itself) {
    parts.add_next();
    const double gain = parts.most_gain(lanes);
    if (gain > best.gain && gain >= kLeastGain && gain >= kLeastShare * parts.serial_seconds()) {
      best = {first, parts.end(), gain};
    }
  }
  return best;
}

// Of candidates that overlap, those that save most together.
std::vector<Candidate> choose(std::vector<Candidate> candidates) {
  std::ranges::sort(candidates, {}, &Candidate::last);
  std::vector<double> best(candidates.size() + 1, 0);  // of the first so many
  const auto before = [&](std::size_t n) {             // how many end before it begins
    return static_cast<std::size_t>(
        std::ranges::upper_bound(candidates, candidates[n].first, {}, &Candidate::last) -
        candidates.begin());
  };
  for (std::size_t n = 0; n < candidates.size(); ++n) {
    best[n + 1] = std::max(best[n], best[before(n)] + candidates[n].gain);
  }
  std::vector<Candidate> chosen;
  for (std::size_t n = candidates.size(); n > 0;) {
    if (best[n] == best[n - 1]) {
      --n;
    } else {
      chosen.push_back(candidates[n - 1]);
      n = before(n - 1);
    }
  }
  std::ranges::reverse(chosen);
  return chosen;
}

}  // namespace

std::vector<Section> find_sections(std::span<const SectionStep> steps, int lanes) {
  std::vector<Section> sections;
  if (lanes < 2) {
    return sections;
  }
  std::vector<Candidate> candidates;
  for (const std::size_t first : beginnings(steps)) {
    if (const Candidate found = best_from(steps, first, lanes); found.gain > 0) {
      candidates.push_back(found);
    }
  }
  for (const Candidate& found : choose(std::move(candidates))) {
    Parts parts(steps, found.first);
    while (parts.end() < found.last) {
      parts.add_next();
    }
    std::vector<std::vector<std::size_t>> dealt = parts.deal(lanes);
    double longest = 0;
    for (const std::vector<std::size_t>& lane : dealt) {
      longest = std::max(
          longest, std::accumulate(lane.begin(), lane.end(), 0.0, [&](double sum, std::size_t n) {
            return sum + steps[n].time.alone;
          }));
    }
    const double gain = parts.serial_seconds() - longest - kMeetingSeconds;
    if (gain >= kLeastGain && gain >= kLeastShare * parts.serial_seconds()) {
      sections.push_back({found.first, found.last, std::move(dealt)});
    }
  }
  return sections;
}

}  // namespace antichain
