#include "antichain/backends/cpu/elementwise/row_update_kernels.h"

#include <cstring>
#include <memory>

#include "antichain/backends/cpu/elementwise/marked_rows.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/indexing/prefetch_row.h"
#include "antichain/backends/cpu/simd/row_loops.h"
#include "antichain/backends/cpu/simd/update_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/state/row_update_parts.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/ops/state/update_rules.h"

namespace antichain::cpu {

namespace {

// Rows of a table lie anywhere in memory: they are asked for while the ones before are
// computed.
constexpr std::int64_t kRowsAhead = 12;

using IsZero = bool (*)(const void* row, std::int64_t width);

template <class T>
bool is_zero_row(const void* row, std::int64_t width) {
  const T* const values = static_cast<const T*>(row);
  bool any = false;
  for (std::int64_t i = 0; i < width; ++i) {
    any |= convert<float>(values[i]) != 0;
  }
  return !any;
}

template <>
bool is_zero_row<double>(const void* row, std::int64_t width) {
  const double* const values = static_cast<const double*>(row);
  bool any = false;
  for (std::int64_t i = 0; i < width; ++i) {
    any |= values[i] != 0;
  }
  return !any;
}

IsZero is_zero_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return is_zero_row<double>;
    case DType::bf16: return is_zero_row<bfloat16>;
    case DType::f16: return is_zero_row<float16>;
    default: return is_zero_row<float>;
  }
}

// Where the rows of one update lie.
struct TableRows {
  UpdatedMemory memory;
  std::size_t states;
  RowLayout layout;
  std::int64_t first_bytes, other_bytes;  // of a row of the first state and of the others

  std::byte* at(std::size_t state, std::int64_t row) const {
    return static_cast<std::byte*>(memory.after[state]) +
           row * (state == 0 ? first_bytes : other_bytes);
  }
  void prefetch(std::int64_t row) const {
    for (std::size_t state = 0; state < states; ++state) {
      prefetch_row<RowUse::change>(at(state, row), state == 0 ? first_bytes : other_bytes);
    }
  }
};

// Calls f(row of the state, row of the gradient) for the rows that were selected, several at once.
template <class F>
void for_each_selected_row(const KernelContext& context, const TableRows& rows, F&& f) {
  const RowLayout& layout = rows.layout;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, layout.width));
  if (context.num_inputs() == kSelection) {
    parallel_ranges(layout.state_rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        f(row, row);
      }
    });
  } else if (context.in(kSelection).dtype() == DType::i64) {
    const std::int64_t* const ids = context.in(kSelection).data<std::int64_t>();
    const auto is_row = [&](std::int64_t k) { return ids[k] >= 0 && ids[k] < layout.state_rows; };
    parallel_ranges(layout.gradient_rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        if (k + kRowsAhead < last && is_row(k + kRowsAhead)) {
          rows.prefetch(ids[k + kRowsAhead]);
        }
        if (is_row(k)) {
          f(ids[k], k);
        }
      }
    });
  } else {
    for_each_mark(context.in(kSelection).data<bool>(), layout.state_rows,
                  [&](std::int64_t row) { f(row, row); });
  }
}

TableRows table_rows(const KernelContext& context, std::span<const std::string> states) {
  const DType dtype = context.states->get(states[0], *context.device).dtype();
  TableRows rows{.memory = modified_memory(*context.states, states),
                 .states = states.size(),
                 .layout = row_layout(context, context.states->get(states[0], *context.device)),
                 .first_bytes = 0,
                 .other_bytes = 0};
  const std::int64_t width = rows.layout.width;
  rows.first_bytes = width * static_cast<std::int64_t>(size_of(dtype));
  rows.other_bytes = width * static_cast<std::int64_t>(size_of(buffer_dtype(dtype)));
  return rows;
}

// A row of a sum in f32, rounded to the type of the state.
using RoundRow = const std::byte* (*)(const std::byte* row, std::int64_t width);

template <class T>
const std::byte* rounded_row(const std::byte* row, std::int64_t width) {
  const auto* const from = reinterpret_cast<const float*>(row);
  std::byte* const room = thread_scratch(static_cast<std::size_t>(width) * sizeof(T));
  T* const to = reinterpret_cast<T*>(room);
  for (std::int64_t i = 0; i < width; ++i) {
    to[i] = convert<T>(from[i]);
  }
  return room;
}

const std::byte* same_row(const std::byte* row, std::int64_t) { return row; }

RoundRow round_row_of(DType gradient, DType state) {
  return gradient == state      ? same_row
         : state == DType::bf16 ? rounded_row<bfloat16>
                                : rounded_row<float16>;
}

// Calls f(row of the state, gradient) for the selected rows whose gradient is not zero.
template <class F>
void for_each_used_row(const KernelContext& context, const TableRows& rows, F&& f) {
  const Tensor& gradient = context.in(kGradient);
  const auto* const first = static_cast<const std::byte*>(gradient.raw());
  const DType dtype = context.op.output().dtype();
  const RoundRow rounded = round_row_of(gradient.dtype(), dtype);
  const std::int64_t row_bytes =
      rows.layout.width * static_cast<std::int64_t>(size_of(gradient.dtype()));
  const IsZero is_zero = is_zero_of(dtype);
  for_each_selected_row(context, rows, [&](std::int64_t row, std::int64_t k) {
    const std::byte* const own = rounded(first + k * row_bytes, rows.layout.width);
    if (!is_zero(own, rows.layout.width)) {
      f(row, own);
    }
  });
}

KernelFunction update_rows_by(UpdateLoop loop, const KernelContext& context) {
  const std::vector<std::string> states = updated_states(*context.attrs)[0];
  return [loop, states](KernelContext& run) {
    if (run.in(kWhen).item<bool>()) {
      const TableRows rows = table_rows(run, states);
      const double* const numbers = run.in(kNumbersInput).data<double>();
      for_each_used_row(run, rows, [&](std::int64_t row, const std::byte* gradient) {
        UpdatedMemory own{};
        for (std::size_t state = 0; state < rows.states; ++state) {
          own.before[state] = own.after[state] = rows.at(state, row);
        }
        loop(own.before.data(), own.after.data(), gradient, numbers, 0, rows.layout.width);
      });
    }
    run.out() = run.states->get(states[0], *run.device);
  };
}

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

// A gradient that is a product: each row is added up, as csr_matmul does it, and used at once.
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
          const std::size_t sum_bytes =
              whole_cache_lines(static_cast<std::size_t>(width) * sizeof(double));
          std::byte* const room = thread_scratch(4 * sum_bytes);
          auto* const sums = reinterpret_cast<double*>(room);
          auto* const more_sums = reinterpret_cast<double*>(room + sum_bytes);
          T* const gradient = reinterpret_cast<T*>(room + 2 * sum_bytes);
          T* const added_row = reinterpret_cast<T*>(room + 3 * sum_bytes);
          for (std::int64_t k = first; k < last; ++k) {
            if (k + kRowsAhead < last && is_row(k + kRowsAhead)) {
              rows.prefetch(ids[k + kRowsAhead]);
            }
            const auto positions = by_slot->positions(k), added_positions = added->of(k);
            if (!is_row(k) || (positions.empty() && added_positions.empty())) {
              continue;
            }
            std::fill_n(sums, width, 0.0);
            for (const std::int64_t position : positions) {
              const std::int64_t from = (*row_of)[static_cast<std::size_t>(position)];
              rows_of.add(convert<double>(values[position]), dense + from * width, sums, width);
            }
            bool any = rows_of.round(sums, gradient, width);
            if (!added_positions.empty()) {
              std::fill_n(more_sums, width, 0.0);
              for (const std::int64_t position : added_positions) {
                rows_of.add(1, more + position * width, more_sums, width);
              }
              rows_of.round(more_sums, added_row, width);
              for (std::int64_t i = 0; i < width; ++i) {
                sums[i] = convert<double>(gradient[i]) + convert<double>(added_row[i]);
              }
              any = rows_of.round(sums, gradient, width);
            }
            if (any) {
              UpdatedMemory own{};
              for (std::size_t state = 0; state < rows.states; ++state) {
                own.before[state] = own.after[state] = rows.at(state, ids[k]);
              }
              loop(own.before.data(), own.after.data(), gradient, numbers, 0, width);
            }
          }
        });
      });
    }
    run.out() = run.states->get(states[0], *run.device);
  };
}

// Each value of a product changes its row by itself, by whichever thread has its example: races are
// meant (row_updates.h).
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
                rows_of.add(convert<double>(values[place]), dense + first * width, product, width);
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

KernelFunction accumulate_rows_by(UpdateLoop loop, const KernelContext& context) {
  const std::vector<std::string> states = updated_states(*context.attrs)[0];
  return [loop, states](KernelContext& run) {
    if (run.in(kWhen).item<bool>()) {
      const TableRows rows = table_rows(run, {&states[0], 1});
      bool* const marks = run.states->modify(states[1]).data<bool>();
      const double* const numbers = run.in(kNumbersInput).data<double>();
      if (numbers[rules::kGradientNumbers] == 0) {
        for_each_mark(marks, rows.layout.state_rows, [&](std::int64_t row) {
          std::memset(rows.at(0, row), 0, static_cast<std::size_t>(rows.first_bytes));
          marks[row] = false;
        });
      }
      const double first[] = {numbers[0], numbers[1], 0}, further[] = {numbers[0], numbers[1], 1};
      for_each_used_row(run, rows, [&](std::int64_t row, const std::byte* gradient) {
        const void* const before[] = {rows.at(0, row)};
        void* const after[] = {rows.at(0, row)};
        loop(before, after, gradient, marks[row] ? further : first, 0, rows.layout.width);
        marks[row] = true;
      });
    }
    run.out() = run.states->get(states[0], *run.device);
  };
}

}  // namespace

void register_row_updates(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    const auto add = [&](const OpDef& whole, const OpDef& rows, auto by) {
      const UpdateRow* const row = update_loops<kLevel>().find(whole.name);
      ensure(row != nullptr, "there is no loop for {}", whole.name);
      kernels.add(
          rows, {.name = std::string(name(kLevel)) + " step of rows",
                 .supports = [](Op) { return cpu_supports(kLevel); },
                 .plan =
                     [row, by](const KernelContext& context) {
                       const DType dtype = context.op.output().dtype();
                       const UpdateLoop loop = row->loops[static_cast<int>(dtype)];
                       if (context.num_inputs() < kProductInputs) {
                         return by(loop, context);
                       }
                       return context.attr<bool>(kLockFree)
                                  ? update_rows_lock_free(loop, row_loops<kLevel>(dtype), context)
                                  : update_rows_by_product(loop, row_loops<kLevel>(dtype), context);
                     }});
    };
    for (const RowRule& rule : row_rules()) {
      add(*rule.whole, *rule.rows, update_rows_by);
    }
    add(accumulate_update_def(), accumulate_rows_update_def(), accumulate_rows_by);
  });
}

}  // namespace antichain::cpu
