// active_units: an example's candidates are counted in an array over all units, of the smallest
// numbers that can hold the counts: a byte per unit stays in the nearer caches, and counting
// branches on nothing.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "antichain/backends/cpu/hashing/active_inputs.h"
#include "antichain/backends/cpu/hashing/hashing_kernels.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/indexing/prefetch_row.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/reference/checked_indices.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kExamplesPerTask = 4;

// Chooses for one example after another, by one thread. Count holds how many tables gave a unit.
template <class Count>
class ExampleChoice {
 public:
  static constexpr Count kChosen = std::numeric_limits<Count>::max();  // instead: it is active

  ExampleChoice(const ActiveOptions& options, const ActiveInputs& in)
      : options_(options), in_(in), most_(in.tables * in.probes) {}

  struct Output {
    std::int64_t* ids;
    float* correction;
    float* common_correction;
    std::int64_t* slots;  // of the labels of this example
    std::int64_t first;   // what a place among the values of the example counts from
  };
  /// Returns how many units hashing gave; -1 where there are too many labels.
  template <class Label>
  std::int64_t run(std::int64_t example, std::span<const Label> labels, const Output& out) const {
    // The beginnings of all buckets come while the tables before are looked up, and their ids while
    // the labels are placed.
    std::size_t most_seen = 0;
    in_.for_each_bucket(example, [&](std::span<const std::int32_t> ids) {
      prefetch_row(ids.data(), static_cast<std::int64_t>(ids.size_bytes()));
      most_seen += ids.size();
    });
    const std::size_t seen_bytes = whole_cache_lines((most_seen + 1) * sizeof(std::int32_t));
    const std::size_t most_own = static_cast<std::size_t>(options_.active);
    const std::size_t chosen_bytes = whole_cache_lines((most_own + 1) * sizeof(std::int32_t));
    const std::size_t order_bytes =
        whole_cache_lines(static_cast<std::size_t>(most_ + 2) * sizeof(std::uint32_t));
    std::byte* const room = thread_scratch(seen_bytes + chosen_bytes + order_bytes);
    auto* const seen = reinterpret_cast<std::int32_t*>(room);
    auto* const chosen = reinterpret_cast<std::int32_t*>(room + seen_bytes);
    auto* const order = reinterpret_cast<std::uint32_t*>(room + seen_bytes + chosen_bytes);
    auto* const counts = reinterpret_cast<Count*>(
        zeroed_thread_scratch(static_cast<std::size_t>(options_.units) * sizeof(Count)));

    const std::int64_t most_known = options_.own(), num_common = options_.common();
    std::fill_n(out.common_correction, num_common, 1.0F);  // what is not known is drawn
    std::int64_t own = 0, known = 0;
    const auto add_known = [&](std::int32_t id) {
      ++known;
      if (const std::int64_t place = draws_.position(id); place < num_common) {
        out.common_correction[place] = 0;
        return most_known + place;
      }
      out.ids[own] = id;
      return own++;
    };
    bool fits = true;
    for (std::size_t k = 0; k < labels.size() && fits; ++k) {
      const auto id = static_cast<std::int32_t>(labels[k]);
      if (counts[id] != kChosen) {
        fits = known < most_known;
        counts[id] = kChosen;
        out.slots[k] = out.first + (fits ? add_known(id) : 0);
      } else {
        out.slots[k] =
            out.slots[std::find(labels.begin(), labels.end(), labels[k]) - labels.begin()];
      }
    }
    std::int64_t taken = -1;
    if (fits) {
      const std::span found(seen, count_found(example, counts, seen));
      taken = select(found, counts, most_known - known, chosen, order);
      for (const std::int32_t id : found) {  // what was not chosen can be drawn
        counts[id] = 0;
      }
      for (std::int64_t i = 0; i < taken; ++i) {
        counts[chosen[i]] = kChosen;
        add_known(chosen[i]);
      }
      correct(own, known, out);
      DrawnIds draws = behind_common_;
      for (std::int64_t next = own; next < most_known;) {
        if (const auto id = static_cast<std::int32_t>(draws.next()); counts[id] != kChosen) {
          out.ids[next++] = id;
        }
      }
      for (std::int64_t i = 0; i < taken; ++i) {
        counts[chosen[i]] = 0;
      }
    }
    for (const Label label : labels) {
      counts[label] = 0;
    }
    return taken;
  }

 private:
  // Lists the units that tables give, as they come, and counts the tables that do; units that are
  // active already are left out. Returns how many.
  std::size_t count_found(std::int64_t example, Count* counts, std::int32_t* seen) const {
    std::size_t num_seen = 0;
    in_.for_each_bucket(example, [&](std::span<const std::int32_t> ids) {
      for (const std::int32_t id : ids) {
        const Count count = counts[id];
        seen[num_seen] = id;
        num_seen += count == 0 ? 1 : 0;
        counts[id] = static_cast<Count>(count + (count != kChosen ? 1 : 0));
      }
    });
    return num_seen;
  }

  // Of the units after the `own` ones that are known, each drawn one stands for others.
  void correct(std::int64_t own, std::int64_t known, const Output& out) const {
    const auto drawn = static_cast<double>(options_.active - known);
    const auto others = static_cast<double>(options_.units - known);
    const auto of_drawn = static_cast<float>(drawn == 0 ? 0 : std::log(others / drawn));
    std::fill_n(out.correction, own, 0.0F);
    std::fill(out.correction + own, out.correction + options_.own(), of_drawn);
    for (std::int64_t place = 0; place < options_.common(); ++place) {
      out.common_correction[place] *= of_drawn;
    }
  }

  // Puts those that are taken into `chosen`; returns how many.
  std::int64_t select(std::span<const std::int32_t> seen, const Count* counts, std::int64_t room,
                      std::int32_t* chosen, std::uint32_t* order) const {
    if (options_.selection != Selection::top) {
      const std::int64_t least =
          options_.selection == Selection::threshold ? options_.threshold : 1;
      std::int64_t taken = 0;
      for (std::size_t i = 0; i < seen.size() && taken < room; ++i) {
        if (counts[seen[i]] >= least) {
          chosen[taken++] = seen[i];
        }
      }
      return taken;
    }
    // A counting sort, the largest counts first, equal ones as they were seen.
    std::fill_n(order, most_ + 2, 0U);
    for (const std::int32_t id : seen) {
      ++order[most_ - counts[id] + 1];
    }
    for (std::int64_t c = 0; c <= most_; ++c) {
      order[c + 1] += order[c];
    }
    for (const std::int32_t id : seen) {
      const std::uint32_t to = order[most_ - counts[id]]++;
      if (to < room) {
        chosen[to] = id;
      }
    }
    return std::min<std::int64_t>(room, static_cast<std::int64_t>(seen.size()));
  }

  const ActiveOptions& options_;
  const ActiveInputs& in_;
  std::int64_t most_;  // tables that can give a unit
  DrawnIds draws_{options_.units, in_.step};
  DrawnIds behind_common_ = draws_.behind(options_.common());
};

template <class Count>
void run_each(KernelContext& run, const ActiveOptions& options, const ActiveInputs& in) {
  const ExampleChoice<Count> choice(options, in);
  std::int64_t* const ids = run.out(0).data<std::int64_t>();
  float* const correction = run.out(1).data<float>();
  float* const common_correction = run.out(3).data<float>();
  std::int64_t* const slots = run.out(4).data<std::int64_t>();
  DrawnIds draws(options.units, in.step);
  for (std::int64_t place = 0; place < options.common(); ++place) {
    run.out(2).data<std::int64_t>()[place] = draws.next();
  }
  const bool has_labels = run.num_inputs() > 4;
  std::atomic<std::int64_t> found = 0;  // whole numbers: their order does not show
  const auto with_labels = [&](auto* labels, auto&& start) {
    parallel_ranges(in.examples, kExamplesPerTask, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t example = first; example < last; ++example) {
        const std::int64_t from = start(example), to = start(example + 1);
        const std::int64_t at = example * options.own();
        const std::int64_t given =
            choice.run(example, std::span(labels + from, static_cast<std::size_t>(to - from)),
                       {ids + at, correction + at, common_correction + example * options.common(),
                        slots + from, example * options.active});
        require<DataError>(given >= 0,
                           "{}: {} units have to be active for their labels, there is room for {}",
                           run.where, to - from, options.own());
        found += given;
      }
    });
  };
  if (has_labels) {
    check_indices(run, 4, options.units);
    check_row_starts(run, 5, run.in(4).numel());
    visit_indices(run.in(4), [&](const auto* labels) {
      visit_indices(run.in(5), [&](const auto* starts) {
        with_labels(labels,
                    [starts](std::int64_t row) { return static_cast<std::int64_t>(starts[row]); });
      });
    });
  } else {
    with_labels(static_cast<const std::int64_t*>(nullptr),
                [](std::int64_t) { return std::int64_t{0}; });
  }
  *run.out(5).data<std::int64_t>() = found;
}

// A unit is given by so many tables at most.
void run_by_count(KernelContext& run, const ActiveOptions& options) {
  const ActiveInputs in(run);
  const std::int64_t most = in.tables * in.probes;
  if (most < ExampleChoice<std::uint8_t>::kChosen) {
    run_each<std::uint8_t>(run, options, in);
  } else if (most < ExampleChoice<std::uint16_t>::kChosen) {
    run_each<std::uint16_t>(run, options, in);
  } else {
    run_each<std::uint32_t>(run, options, in);
  }
}

Support takes_examples(Op op) {
  return op.attrs().get<bool>("shared") ? Support::no("shared by the batch") : Support{};
}

}  // namespace

void register_active_units(KernelTable& kernels) {
  kernels.add(active_units_def(), {.name = "example by example",
                                   .supports = takes_examples,
                                   .plan = [](const KernelContext& context) {
                                     return [options = active_options(*context.attrs)](
                                                KernelContext& run) { run_by_count(run, options); };
                                   }});
}

}  // namespace antichain::cpu
