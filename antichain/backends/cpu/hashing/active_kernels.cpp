// active_units: an example's candidates are counted in a small hash table of the thread's, which
// stays in the nearest caches however many units there are.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/hashing/active_inputs.h"
#include "antichain/backends/cpu/hashing/hashing_kernels.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/reference/checked_indices.h"

namespace antichain::cpu {

namespace {

constexpr std::int32_t kEmpty = -1;
constexpr std::int64_t kExamplesPerTask = 4;

// What is known about one unit of one example.
struct Candidate {
  std::int32_t id;
  std::int32_t count;  // of tables that gave it; kChosen: it is active
};
constexpr std::int32_t kChosen = -1;

// A set of candidates, open addressing with linear probing.
class Candidates {
 public:
  Candidates(Candidate* slots, std::size_t size) : slots_(slots), mask_(size - 1) {
    std::fill_n(slots, size, Candidate{kEmpty, 0});
  }
  Candidate& find(std::int32_t id) {
    std::size_t at = (static_cast<std::uint32_t>(id) * 0x9E3779B1U >> 7) & mask_;
    while (slots_[at].id != id && slots_[at].id != kEmpty) {
      at = (at + 1) & mask_;
    }
    return slots_[at];
  }
  std::uint32_t place(const Candidate& candidate) const {
    return static_cast<std::uint32_t>(&candidate - slots_);
  }
  Candidate& operator[](std::uint32_t place) { return slots_[place]; }

 private:
  Candidate* slots_;
  std::size_t mask_;
};

// Chooses for one example after another, by one thread.
class ExampleChoice {
 public:
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
    std::size_t found = labels.size() + static_cast<std::size_t>(options_.active);
    in_.for_each_bucket(example, [&](std::span<const std::int32_t> ids) { found += ids.size(); });
    const std::size_t size = std::bit_ceil(2 * found + 1);
    const std::size_t table_bytes = whole_cache_lines(size * sizeof(Candidate));
    const std::size_t list_bytes = whole_cache_lines(found * sizeof(std::uint32_t));
    const std::size_t count_bytes =
        whole_cache_lines(static_cast<std::size_t>(most_ + 2) * sizeof(std::uint32_t));
    std::byte* const room = thread_scratch(table_bytes + 2 * list_bytes + count_bytes);
    Candidates candidates(reinterpret_cast<Candidate*>(room), size);
    auto* const seen = reinterpret_cast<std::uint32_t*>(room + table_bytes);
    auto* const chosen = reinterpret_cast<std::uint32_t*>(room + table_bytes + list_bytes);
    auto* const counts = reinterpret_cast<std::uint32_t*>(room + table_bytes + 2 * list_bytes);

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
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const auto id = static_cast<std::int32_t>(labels[k]);
      Candidate& candidate = candidates.find(id);
      if (candidate.id == kEmpty) {
        if (known == most_known) {
          return -1;
        }
        candidate = {id, kChosen};
        out.slots[k] = out.first + add_known(id);
      } else {
        out.slots[k] =
            out.slots[std::find(labels.begin(), labels.end(), labels[k]) - labels.begin()];
      }
    }
    std::size_t num_seen = 0;
    in_.for_each_bucket(example, [&](std::span<const std::int32_t> ids) {
      for (const std::int32_t id : ids) {
        Candidate& candidate = candidates.find(id);
        if (candidate.id == kEmpty) {
          candidate = {id, 1};
          seen[num_seen++] = candidates.place(candidate);
        } else if (candidate.count != kChosen) {
          ++candidate.count;
        }
      }
    });
    const auto given = static_cast<std::int64_t>(num_seen);
    const std::int64_t taken = select({seen, static_cast<std::size_t>(given)}, candidates,
                                      most_known - known, chosen, counts);
    for (std::int64_t i = 0; i < taken; ++i) {
      Candidate& candidate = candidates[chosen[i]];
      candidate.count = kChosen;
      add_known(candidate.id);
    }
    const auto drawn = static_cast<double>(options_.active - known);
    const auto others = static_cast<double>(options_.units - known);
    const auto of_drawn = static_cast<float>(drawn == 0 ? 0 : std::log(others / drawn));
    std::fill_n(out.correction, own, 0.0F);
    std::fill(out.correction + own, out.correction + most_known, of_drawn);
    for (std::int64_t place = 0; place < num_common; ++place) {
      out.common_correction[place] *= of_drawn;
    }
    DrawnIds draws = behind_common_;
    while (own < most_known) {
      const auto id = static_cast<std::int32_t>(draws.next());
      Candidate& candidate = candidates.find(id);
      if (candidate.id == kEmpty || candidate.count != kChosen) {
        candidate = {id, kChosen};
        out.ids[own++] = id;
      }
    }
    return taken;
  }

 private:
  // Puts the places of those that are taken into `chosen`; returns how many.
  std::int64_t select(std::span<const std::uint32_t> seen, Candidates& candidates,
                      std::int64_t room, std::uint32_t* chosen, std::uint32_t* counts) const {
    if (options_.selection != Selection::top) {
      const std::int64_t least =
          options_.selection == Selection::threshold ? options_.threshold : 1;
      std::int64_t taken = 0;
      for (std::size_t i = 0; i < seen.size() && taken < room; ++i) {
        if (candidates[seen[i]].count >= least) {
          chosen[taken++] = seen[i];
        }
      }
      return taken;
    }
    // A counting sort, the largest counts first, equal ones as they were seen.
    std::fill_n(counts, most_ + 2, 0U);
    for (const std::uint32_t place : seen) {
      ++counts[most_ - candidates[place].count + 1];
    }
    for (std::int64_t c = 0; c <= most_; ++c) {
      counts[c + 1] += counts[c];
    }
    for (const std::uint32_t place : seen) {
      const std::uint32_t to = counts[most_ - candidates[place].count]++;
      if (to < room) {
        chosen[to] = place;
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

void run_each(KernelContext& run, const ActiveOptions& options) {
  const ActiveInputs in(run);
  const ExampleChoice choice(options, in);
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

Support takes_examples(Op op) {
  return op.attrs().get<bool>("shared") ? Support::no("shared by the batch") : Support{};
}

}  // namespace

void register_active_units(KernelTable& kernels) {
  kernels.add(active_units_def(), {.name = "example by example",
                                   .supports = takes_examples,
                                   .plan = [](const KernelContext& context) {
                                     return [options = active_options(*context.attrs)](
                                                KernelContext& run) { run_each(run, options); };
                                   }});
}

}  // namespace antichain::cpu
