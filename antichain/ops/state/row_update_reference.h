// References of updates of rows: every row whose gradient is not zero, one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "antichain/graph/kernel_context.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/state/row_update_parts.h"
#include "antichain/ops/state/update_rules.h"

namespace antichain {

inline void round_to(DType dtype, std::vector<double>& values) {
  visit_dtype(dtype, [&values](auto zero) {
    for (double& value : values) {
      value = convert<double>(convert<decltype(zero)>(value));
    }
  });
}

// Adds the rows that are added to a product, as scatter_add and a sum would.
inline void add_rows(const KernelContext& context, std::vector<double>& gradient) {
  const auto width = static_cast<std::size_t>(context.in(kDense).shape()[1]);
  const auto slots = checked_indices(context, kAddedSlots, context.in(kSelection).shape()[0]);
  const std::vector<double> rows = load<double>(context.in(kAddedRows));
  std::vector<double> added(gradient.size());
  for (std::size_t k = 0; k < slots.size(); ++k) {
    for (std::size_t i = 0; i < width; ++i) {
      added[static_cast<std::size_t>(slots[k]) * width + i] += rows[k * width + i];
    }
  }
  round_to(context.in(kGradient).dtype(), added);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] += added[i];
  }
  round_to(context.in(kGradient).dtype(), gradient);
}

// Returns the gradient of the rows that are updated; a product is computed and rounded, as one
// that is kept would be.
inline std::vector<double> gradient_of_rows(const KernelContext& context, DType state) {
  std::vector<double> gradient = load<double>(context.in(kGradient));
  if (context.num_inputs() < kProductInputs) {
    round_to(state, gradient);
    return gradient;
  }
  const std::vector<double> values = std::move(gradient), dense = load<double>(context.in(kDense));
  const std::int64_t rows = context.in(kSelection).shape()[0];
  const auto slots = checked_indices(context, kSlots, rows);
  const auto starts = load<std::int64_t>(context.in(kRowStarts));
  const auto width = static_cast<std::size_t>(context.in(kDense).shape()[1]);
  gradient.assign(static_cast<std::size_t>(rows) * width, 0.0);
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    for (auto k = static_cast<std::size_t>(starts[row]);
         k < static_cast<std::size_t>(starts[row + 1]); ++k) {
      for (std::size_t i = 0; i < width; ++i) {
        gradient[static_cast<std::size_t>(slots[k]) * width + i] +=
            values[k] * dense[row * width + i];
      }
    }
  }
  round_to(context.in(kGradient).dtype(), gradient);
  if (context.num_inputs() == kSumInputs) {
    add_rows(context, gradient);
  }
  return gradient;
}

// Calls f(row of the state, first element of the gradient) for the rows whose gradient is not zero.
template <class F>
void for_each_used_row(const KernelContext& context, const RowLayout& layout,
                       const std::vector<double>& gradient, F&& f) {
  for (std::int64_t k = 0; k < layout.gradient_rows; ++k) {
    std::int64_t row = k;
    if (context.num_inputs() > kSelection) {
      const Tensor& selection = context.in(kSelection);
      if (selection.dtype() == DType::i64) {
        row = selection.data<std::int64_t>()[k];
      } else if (!selection.data<bool>()[k]) {
        continue;
      }
    }
    const auto first = gradient.begin() + k * layout.width;
    const bool used = std::any_of(first, first + layout.width, [](double g) { return g != 0; });
    if (row >= 0 && row < layout.state_rows && used) {
      f(row, static_cast<std::size_t>(k * layout.width));
    }
  }
}

// Calls f(selected row, its gradient) for each value of a product by itself, then for the rows that
// are added to it.
template <class F>
void for_each_part(const KernelContext& context, F&& f) {
  const std::vector<double> values = load<double>(context.in(kGradient)),
                            dense = load<double>(context.in(kDense));
  const std::int64_t selected = context.in(kSelection).shape()[0];
  const auto slots = checked_indices(context, kSlots, selected);
  const auto starts = load<std::int64_t>(context.in(kRowStarts));
  const auto width = static_cast<std::size_t>(context.in(kDense).shape()[1]);
  std::vector<double> part(width);
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    for (auto k = static_cast<std::size_t>(starts[row]);
         k < static_cast<std::size_t>(starts[row + 1]); ++k) {
      for (std::size_t i = 0; i < width; ++i) {
        part[i] = values[k] * dense[row * width + i];
      }
      round_to(context.in(kGradient).dtype(), part);
      f(slots[k], part);
    }
  }
  if (context.num_inputs() == kSumInputs) {
    const std::vector<double> rows = load<double>(context.in(kAddedRows));
    const auto added = checked_indices(context, kAddedSlots, selected);
    for (std::size_t k = 0; k < added.size(); ++k) {
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(k * width), width, part.begin());
      f(added[k], part);
    }
  }
}

template <class Rule, std::size_t... kState>
void update_used_rows(KernelContext& context, const std::vector<std::string>& names,
                      std::index_sequence<kState...>) {
  StateStore& store = *context.states;
  const std::array<Tensor, sizeof...(kState)> states = {store.modify(names[kState])...};
  std::array<std::vector<double>, sizeof...(kState)> values = {load<double>(states[kState])...};
  const rules::Applied<Rule, double> rule(context.in(kNumbersInput).template data<double>());
  const RowLayout layout = row_layout(context, states[0]);
  const auto update_row = [&](std::int64_t row, const double* gradient) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(layout.width); ++i) {
      const std::size_t at = static_cast<std::size_t>(row * layout.width) + i;
      rule(gradient[i], values[kState][at]...);
    }
  };
  if (context.num_inputs() >= kProductInputs && context.attr<bool>(kLockFree)) {
    const auto* const ids = context.in(kSelection).data<std::int64_t>();
    for_each_part(context, [&](std::int64_t slot, const std::vector<double>& part) {
      const std::int64_t row = ids[slot];
      if (row >= 0 && row < layout.state_rows &&
          std::ranges::any_of(part, [](double g) { return g != 0; })) {
        update_row(row, part.data());
      }
    });
  } else {
    const std::vector<double> gradient = gradient_of_rows(context, states[0].dtype());
    for_each_used_row(context, layout, gradient, [&](std::int64_t row, std::size_t from) {
      update_row(row, gradient.data() + from);
    });
  }
  (antichain::store(values[kState], states[kState]), ...);
}

template <class Rule>
void row_update_reference(KernelContext& context) {
  const std::vector<std::string> names = updated_states(*context.attrs)[0];
  if (context.in(kWhen).item<bool>()) {
    update_used_rows<Rule>(context, names, std::make_index_sequence<Rule::kStates>());
  }
  context.out() = context.states->get(names[0], host_memory());
}

inline void accumulate_rows_reference(KernelContext& context) {
  const std::vector<std::string> names = updated_states(*context.attrs)[0];
  StateStore& store = *context.states;
  if (context.in(kWhen).item<bool>()) {
    const Tensor sum = store.modify(names[0]), marked = store.modify(names[1]);
    const RowLayout layout = row_layout(context, sum);
    std::vector<double> total = load<double>(sum);
    bool* const marks = marked.data<bool>();
    const double* const numbers = context.in(kNumbersInput).data<double>();
    if (numbers[rules::kGradientNumbers] == 0) {
      std::fill(total.begin(), total.end(), 0.0);
      std::fill(marks, marks + layout.state_rows, false);
    }
    const std::vector<double> gradient = load<double>(context.in(kGradient));
    const rules::Applied<rules::Accumulate, double> first(
        std::array{numbers[0], numbers[1], 0.0}.data());
    const rules::Applied<rules::Accumulate, double> further(
        std::array{numbers[0], numbers[1], 1.0}.data());
    for_each_used_row(context, layout, gradient, [&](std::int64_t row, std::size_t from) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(layout.width); ++i) {
        const std::size_t at = static_cast<std::size_t>(row * layout.width) + i;
        (marks[row] ? further : first)(gradient[from + i], total[at]);
      }
      marks[row] = true;
    });
    antichain::store(total, sum);
  }
  context.out() = store.get(names[0], host_memory());
}

}  // namespace antichain
