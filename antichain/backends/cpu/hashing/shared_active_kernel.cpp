// active_units for all examples of a batch together: what tables give is counted in one array over
// all units, which a run leaves as it has found it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/hashing/active_inputs.h"
#include "antichain/backends/cpu/hashing/hashing_kernels.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/reference/checked_indices.h"

namespace antichain::cpu {

namespace {

constexpr std::int32_t kActive = -1;  // instead of a count

class BatchChoice {
 public:
  explicit BatchChoice(const ActiveOptions& options)
      : options_(options), counts_(static_cast<std::size_t>(options.units)) {
    for (auto* units : {&active_, &known_}) {
      units->reserve(static_cast<std::size_t>(options.active));
    }
    for (auto* units : {&seen_, &candidates_}) {
      units->reserve(counts_.size());
    }
  }

  void run(KernelContext& run) {
    const ActiveInputs in(run);
    active_.clear();
    seen_.clear();
    if (run.num_inputs() > 4) {
      check_indices(run, 4, options_.units);
      check_row_starts(run, 5, run.in(4).numel());
      visit_indices(run.in(4), [&](const auto* labels) { add_labels(run, labels); });
    }
    count_found(in);
    const DrawnIds walk(options_.units, in.step);
    *run.out(5).data<std::int64_t>() = add_found(walk);
    const std::size_t known = active_.size();
    add_drawn(walk);
    const auto drawn = static_cast<double>(active_.size() - known),
               others = static_cast<double>(options_.units) - static_cast<double>(known);
    write(run, known, static_cast<float>(drawn == 0 ? 0 : std::log(others / drawn)));
    for (const std::int32_t id : seen_) {
      counts_[static_cast<std::size_t>(id)] = 0;
    }
  }

 private:
  std::int32_t& count(std::int32_t id) { return counts_[static_cast<std::size_t>(id)]; }
  // Units that are active are among those that were seen, whose counts are cleared in the end.
  void add(std::int32_t id) {
    if (count(id) == 0) {
      seen_.push_back(id);
    }
    count(id) = kActive;
    active_.push_back(id);
  }

  template <class Label>
  void add_labels(const KernelContext& run, const Label* labels) {
    for (std::int64_t k = 0; k < run.in(4).numel(); ++k) {
      if (const auto id = static_cast<std::int32_t>(labels[k]); count(id) != kActive) {
        add(id);
      }
    }
    const auto needed = static_cast<std::int64_t>(active_.size());
    if (needed > options_.active) {
      for (const std::int32_t id : seen_) {
        count(id) = 0;
      }
      fail<DataError>("{}: {} units have to be active for their labels, there is room for {}",
                      run.where, needed, options_.active);
    }
  }

  void count_found(const ActiveInputs& in) {
    for (std::int64_t example = 0; example < in.examples; ++example) {
      in.for_each_bucket(example, [&](std::span<const std::int32_t> ids) {
        for (const std::int32_t id : ids) {
          if (count(id) == 0) {
            seen_.push_back(id);
          }
          count(id) += count(id) == kActive ? 0 : 1;
        }
      });
    }
  }

  // The largest counts first; among equal ones another unit in each step.
  std::int64_t add_found(const DrawnIds& walk) {
    const std::int32_t least = options_.selection == Selection::threshold
                                   ? static_cast<std::int32_t>(options_.threshold)
                                   : 1;
    candidates_.clear();
    for (const std::int32_t id : seen_) {
      if (count(id) >= least) {
        candidates_.push_back(id);
      }
    }
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(
        0, options_.active - options_.drawn - static_cast<std::int64_t>(active_.size())));
    const std::size_t taken = std::min(room, candidates_.size());
    const auto rotated = [&](std::int32_t id) {
      return (id - walk.rotation() + options_.units) % options_.units;
    };
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(taken),
                     candidates_.end(), [&](std::int32_t a, std::int32_t b) {
                       return count(a) != count(b) ? count(a) > count(b) : rotated(a) < rotated(b);
                     });
    for (std::size_t i = 0; i < taken; ++i) {
      add(candidates_[i]);
    }
    return static_cast<std::int64_t>(taken);
  }

  void add_drawn(DrawnIds walk) {
    while (static_cast<std::int64_t>(active_.size()) < options_.active) {
      if (const auto id = static_cast<std::int32_t>(walk.next()); count(id) != kActive) {
        add(id);
      }
    }
  }

  void write(KernelContext& run, std::size_t known, float of_drawn) {
    known_.assign(active_.begin(), active_.begin() + static_cast<std::ptrdiff_t>(known));
    std::ranges::sort(known_);
    std::ranges::sort(active_);
    std::int64_t* const ids = run.out(2).data<std::int64_t>();
    float* const correction = run.out(3).data<float>();
    for (std::size_t i = 0, next_known = 0; i < active_.size(); ++i) {
      const bool is_known = next_known < known_.size() && known_[next_known] == active_[i];
      next_known += is_known ? 1 : 0;
      ids[i] = active_[i];
      correction[i] = is_known ? 0 : of_drawn;
    }
    if (run.num_inputs() > 4) {
      visit_indices(run.in(4), [&](const auto* labels) {
        visit_indices(run.in(5), [&](const auto* starts) { place_labels(run, labels, starts); });
      });
    }
  }

  template <class Label, class Start>
  void place_labels(KernelContext& run, const Label* labels, const Start* starts) {
    std::int64_t* const slots = run.out(4).data<std::int64_t>();
    for (std::int64_t example = 0; example + 1 < run.in(5).numel(); ++example) {
      for (std::int64_t k = starts[example]; k < starts[example + 1]; ++k) {
        const auto id = static_cast<std::int32_t>(labels[k]);
        slots[k] =
            example * options_.active + (std::ranges::lower_bound(active_, id) - active_.begin());
      }
    }
  }

  ActiveOptions options_;
  std::vector<std::int32_t> counts_, active_, known_, seen_, candidates_;
};

}  // namespace

void register_shared_active_units(KernelTable& kernels) {
  kernels.add(active_units_def(),
              {.name = "of the batch",
               .supports =
                   [](Op op) {
                     return op.attrs().get<bool>("shared") ? Support{}
                                                           : Support::no("of each example");
                   },
               .plan = [](const KernelContext& context) -> KernelFunction {
                 const auto choice = std::make_shared<BatchChoice>(active_options(*context.attrs));
                 return [choice](KernelContext& run) { choice->run(run); };
               }});
}

}  // namespace antichain::cpu
