#include "antichain/backends/cpu/elementwise/row_product_updates.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/elementwise/updated_rows.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/state/row_update_parts.h"

namespace antichain::cpu {

namespace {

// Rows that are added to those of a product.
struct AddedRows {
  std::int64_t count;
  IndexBuckets by_slot;

  AddedRows(const KernelContext& context, std::int64_t slots)
      : count(context.num_inputs() == kSumInputs ? context.in(kAddedSlots).numel() : 0),
        by_slot(count, count > 0 ? slots : 0) {}

  void find(const KernelContext& run, std::int64_t slots) {
    if (count > 0) {
      check_indices(run, kAddedSlots, slots);
      by_slot.fill(run.in(kAddedSlots));
    }
  }
  std::span<const std::int64_t> of(std::int64_t slot) const {
    return count > 0 ? by_slot.positions(slot) : std::span<const std::int64_t>();
  }
};

// One row of a gradient, in memory of the thread: a product, added up as csr_matmul does it, plus
// the sum of other rows, if any; each of the two is rounded, as if it were a value by itself.
template <class T>
class GradientRow {
 public:
  GradientRow(const RowLoops& loops, std::int64_t width) : loops_(loops), width_(width) {
    const std::size_t sum_bytes =
        whole_cache_lines(static_cast<std::size_t>(width) * sizeof(double));
    const std::size_t row_bytes = whole_cache_lines(static_cast<std::size_t>(width) * sizeof(T));
    std::byte* const room = thread_scratch(sum_bytes + 2 * row_bytes);
    sums_ = reinterpret_cast<double*>(room);
    product_ = reinterpret_cast<T*>(room + sum_bytes);
    added_ = reinterpret_cast<T*>(room + sum_bytes + row_bytes);
  }

  void add(double factor, const T* row) {
    waiting_[count_++] = {factor, row};
    if (count_ == std::size(waiting_)) {
      add_waiting();
    }
  }
  /// Ends the product, which has terms or not.
  void end_product(bool has_terms) {
    has_product_ = has_terms;
    any_ = has_terms && round(product_);
  }
  /// Ends the row; returns whether one of its numbers is not 0.
  bool end(bool has_added) {
    row_ = has_product_ ? product_ : added_;
    if (!has_added) {
      return any_;
    }
    any_ = round(added_);
    if (has_product_) {
      std::fill_n(sums_, width_, 0.0);
      const ScaledRow both[] = {{1, product_}, {1, added_}};
      loops_.add({both, std::size(both)}, sums_, width_);
      any_ = loops_.round(sums_, product_, width_);
    }
    return any_;
  }
  const T* row() const { return row_; }

 private:
  void add_waiting() {
    if (!is_begun_) {
      std::fill_n(sums_, width_, 0.0);
      is_begun_ = true;
    }
    loops_.add({waiting_, count_}, sums_, width_);
    count_ = 0;
  }
  bool round(T* to) {
    add_waiting();
    is_begun_ = false;
    return loops_.round(sums_, to, width_);
  }

  const RowLoops& loops_;
  std::int64_t width_;
  double* sums_;
  T *product_, *added_;
  const T* row_ = nullptr;
  ScaledRow waiting_[16];
  std::size_t count_ = 0;
  bool is_begun_ = false, has_product_ = false, any_ = false;
};

}  // namespace

KernelFunction update_rows_by_product(UpdateLoop loop, const RowLoops& rows_of,
                                      const KernelContext& context) {
  const std::vector<std::string> states = updated_states(*context.attrs)[0];
  const std::int64_t count = context.in(kGradient).numel();
  const std::int64_t gradient_rows = context.in(kSelection).numel();
  const std::int64_t width = context.in(kDense).shape()[1];
  const auto by_slot = std::make_shared<IndexBuckets>(count, gradient_rows);
  const auto added = std::make_shared<AddedRows>(context, gradient_rows);
  const auto row_of = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(count));
  const std::int64_t grain =
      std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, width));
  return [=, &rows_of](KernelContext& run) {
    if (run.in(kWhen).item<bool>()) {
      check_indices(run, kSlots, gradient_rows);
      by_slot->fill(run.in(kSlots));
      added->find(run, gradient_rows);
      const std::int64_t* const starts = run.in(kRowStarts).data<std::int64_t>();
      for (std::int64_t row = 0; row + 1 < run.in(kRowStarts).numel(); ++row) {
        std::fill(row_of->begin() + starts[row], row_of->begin() + starts[row + 1], row);
      }
      const TableRows rows = table_rows(run, states);
      const double* const numbers = run.in(kNumbersInput).data<double>();
      const std::int64_t* const ids = run.in(kSelection).data<std::int64_t>();
      visit_dtype(run.in(kGradient).dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T *values = run.in(kGradient).data<T>(), *dense = run.in(kDense).data<T>();
        const T* const more = added->count > 0 ? run.in(kAddedRows).data<T>() : nullptr;
        const auto is_row = [&](std::int64_t k) {
          return ids[k] >= 0 && ids[k] < rows.layout.state_rows;
        };
        parallel_ranges(gradient_rows, grain, [&](std::int64_t first, std::int64_t last) {
          GradientRow<T> gradient(rows_of, width);
          for (std::int64_t k = first; k < last; ++k) {
            if (k + kRowsAhead < last && is_row(k + kRowsAhead)) {
              rows.prefetch(ids[k + kRowsAhead]);
            }
            const auto positions = by_slot->positions(k), added_positions = added->of(k);
            if (!is_row(k) || (positions.empty() && added_positions.empty())) {
              continue;
            }
            for (const std::int64_t position : positions) {
              const std::int64_t from = (*row_of)[static_cast<std::size_t>(position)];
              gradient.add(convert<double>(values[position]), dense + from * width);
            }
            gradient.end_product(!positions.empty());
            for (const std::int64_t position : added_positions) {
              gradient.add(1, more + position * width);
            }
            if (gradient.end(!added_positions.empty())) {
              UpdatedMemory own{};
              for (std::size_t state = 0; state < rows.states; ++state) {
                own.before[state] = own.after[state] = rows.at(state, ids[k]);
              }
              loop(own.before.data(), own.after.data(), gradient.row(), numbers, 0, width);
            }
          }
        });
      });
    }
    run.out() = run.states->get(states[0], *run.device);
  };
}

KernelFunction update_rows_lock_free(UpdateLoop loop, const RowLoops& rows_of,
                                     const KernelContext& context) {
  const std::vector<std::string> states = updated_states(*context.attrs)[0];
  const std::int64_t gradient_rows = context.in(kSelection).numel();
  const std::int64_t width = context.in(kDense).shape()[1];
  const bool adds_rows = context.num_inputs() == kSumInputs;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, width));
  return [=, &rows_of](KernelContext& run) {
    if (run.in(kWhen).item<bool>()) {
      check_indices(run, kSlots, gradient_rows);
      const TableRows rows = table_rows(run, states);
      const double* const numbers = run.in(kNumbersInput).data<double>();
      const std::int64_t* const ids = run.in(kSelection).data<std::int64_t>();
      const auto update = [&](std::int64_t slot, const void* gradient) {
        if (ids[slot] >= 0 && ids[slot] < rows.layout.state_rows) {
          UpdatedMemory own{};
          for (std::size_t state = 0; state < rows.states; ++state) {
            own.before[state] = own.after[state] = rows.at(state, ids[slot]);
          }
          loop(own.before.data(), own.after.data(), gradient, numbers, 0, width);
        }
      };
      visit_dtype(run.in(kGradient).dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T *values = run.in(kGradient).data<T>(), *dense = run.in(kDense).data<T>();
        const std::int64_t* const starts = run.in(kRowStarts).data<std::int64_t>();
        const std::int64_t* const slots = run.in(kSlots).data<std::int64_t>();
        const std::int64_t examples = run.in(kRowStarts).numel() - 1;
        const std::int64_t per_example =
            run.in(kGradient).numel() / std::max<std::int64_t>(1, examples);
        parallel_ranges(
            examples, std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, per_example)),
            [&](std::int64_t first, std::int64_t last) {
              const std::size_t sum_bytes =
                  whole_cache_lines(static_cast<std::size_t>(width) * sizeof(double));
              std::byte* const room = thread_scratch(2 * sum_bytes);
              auto* const product = reinterpret_cast<double*>(room);
              for (std::int64_t place = starts[first]; place < starts[last]; ++place) {
                while (place >= starts[first + 1]) {
                  ++first;
                }
                std::fill_n(product, width, 0.0);
                const ScaledRow scaled{convert<double>(values[place]), dense + first * width};
                rows_of.add({&scaled, 1}, product, width);
                if (rows_of.round(product, room + sum_bytes, width)) {
                  update(slots[place], room + sum_bytes);
                }
              }
            });
      });
      if (adds_rows) {
        check_indices(run, kAddedSlots, gradient_rows);
        const std::int64_t* const slots = run.in(kAddedSlots).data<std::int64_t>();
        const auto* const more = static_cast<const std::byte*>(run.in(kAddedRows).raw());
        const IsZero is_zero = is_zero_of(run.in(kGradient).dtype());
        parallel_ranges(run.in(kAddedSlots).numel(), grain,
                        [&](std::int64_t first, std::int64_t last) {
                          for (std::int64_t k = first; k < last; ++k) {
                            if (!is_zero(more + k * rows.first_bytes, width)) {
                              update(slots[k], more + k * rows.first_bytes);
                            }
                          }
                        });
      }
    }
    run.out() = run.states->get(states[0], *run.device);
  };
}

}  // namespace antichain::cpu
