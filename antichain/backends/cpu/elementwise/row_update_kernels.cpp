#include "antichain/backends/cpu/elementwise/row_update_kernels.h"

#include <cstring>

#include "antichain/backends/cpu/elementwise/marked_rows.h"
#include "antichain/backends/cpu/elementwise/row_product_updates.h"
#include "antichain/backends/cpu/elementwise/updated_rows.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/state/row_update_parts.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/ops/state/update_rules.h"

namespace antichain::cpu {

namespace {

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