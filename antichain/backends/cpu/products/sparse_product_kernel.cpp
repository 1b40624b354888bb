// csr_product: row by row, with a row of the whole product in double (Gustavson, 1978). Elements
// are added in the order in which they are stored: the bits are those of the reference.
#include <algorithm>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/products/checked_pattern.h"
#include "antichain/backends/cpu/products/sparse_kernels.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/products/sparse.h"

namespace antichain::cpu {

namespace {

constexpr int kA = 0, kB = 3, kResult = 6;  // inputs, as the op has them
constexpr std::int64_t kTaskMultiplications = 1 << 15;

// The rows of a matrix, or of its transpose: which column an element is in, and where its value is.
template <class Index>
struct Rows {
  const Index* columns;
  const Index* starts;
  const Index* places = nullptr;  // none: in order

  std::int64_t place(std::int64_t element) const { return places ? places[element] : element; }
};

// A transposed pattern; it keeps its memory from run to run.
template <class Index>
struct TurnedRows {
  std::vector<Index> columns, starts, places, next;

  Rows<Index> turn(const Rows<Index>& given, std::int64_t rows, std::int64_t num_columns) {
    starts.assign(static_cast<std::size_t>(num_columns) + 1, 0);
    columns.resize(static_cast<std::size_t>(given.starts[rows]));
    places.resize(columns.size());
    for (std::int64_t i = 0; i < given.starts[rows]; ++i) {
      ++starts[static_cast<std::size_t>(given.columns[i]) + 1];
    }
    for (std::size_t column = 1; column < starts.size(); ++column) {
      starts[column] += starts[column - 1];
    }
    next = starts;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = given.starts[row]; i < given.starts[row + 1]; ++i) {
        const auto at =
            static_cast<std::size_t>(next[static_cast<std::size_t>(given.columns[i])]++);
        columns[at] = static_cast<Index>(row);
        places[at] = static_cast<Index>(i);
      }
    }
    return {columns.data(), starts.data(), places.data()};
  }
};

struct TurnedOperands {
  TurnedRows<std::int32_t> a32, b32;
  TurnedRows<std::int64_t> a64, b64;

  auto& of(bool first, std::int32_t) { return first ? a32 : b32; }
  auto& of(bool first, std::int64_t) { return first ? a64 : b64; }
};

template <class Index>
Rows<Index> checked_rows(const KernelContext& run, int columns, std::int64_t num_columns) {
  const Rows<Index> rows{static_cast<const Index*>(run.in(columns).raw()),
                         static_cast<const Index*>(run.in(columns + 1).raw())};
  check_pattern(run, columns, rows.columns, rows.starts, num_columns);
  return rows;
}

template <class T, class Index>
void multiply_rows(const T* a, const Rows<Index>& rows_a, const T* b, const Rows<Index>& rows_b,
                   T* out, const Rows<Index>& result, std::int64_t first, std::int64_t last,
                   double* whole) {
  for (std::int64_t row = first; row < last; ++row) {
    // Elsewhere it may hold anything: nobody looks there.
    for (std::int64_t i = result.starts[row]; i < result.starts[row + 1]; ++i) {
      whole[result.columns[i]] = 0;
    }
    for (std::int64_t i = rows_a.starts[row]; i < rows_a.starts[row + 1]; ++i) {
      const double factor = convert<double>(a[rows_a.place(i)]);
      const Index inner = rows_a.columns[i];
      for (std::int64_t j = rows_b.starts[inner]; j < rows_b.starts[inner + 1]; ++j) {
        whole[rows_b.columns[j]] += factor * convert<double>(b[rows_b.place(j)]);
      }
    }
    for (std::int64_t i = result.starts[row]; i < result.starts[row + 1]; ++i) {
      out[i] = convert<T>(whole[result.columns[i]]);
    }
  }
}

// Says whether every row has one element, in the only column.
template <class Index>
bool is_vector(const Rows<Index>& matrix, std::int64_t rows) {
  if (matrix.places != nullptr || matrix.starts[rows] != rows) {
    return false;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    if (matrix.starts[row] != row) {
      return false;
    }
  }
  return true;
}

// A vector for b and for the result: the same sums, without looking rows of one element up.
template <class T, class Index>
void multiply_by_vector(const T* a, const Rows<Index>& rows_a, const T* b, T* out,
                        std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) {
    double sum = 0;
    for (std::int64_t i = rows_a.starts[row]; i < rows_a.starts[row + 1]; ++i) {
      sum += convert<double>(a[rows_a.place(i)]) * convert<double>(b[rows_a.columns[i]]);
    }
    out[row] = convert<T>(sum);
  }
}

}  // namespace

KernelFunction plan_csr_product(const KernelContext& context) {
  const bool turned_a = context.attr<bool>("transpose_a"),
             turned_b = context.attr<bool>("transpose_b");
  const std::int64_t columns_a = context.size("num_columns_a"),
                     columns_b = context.size("num_columns_b");
  const std::int64_t rows_a = context.in(kA + 2).numel() - 1,
                     rows_b = context.in(kB + 2).numel() - 1;
  const std::int64_t rows = turned_a ? columns_a : rows_a, inner = turned_b ? columns_b : rows_b,
                     columns = turned_b ? rows_b : columns_b;
  const std::int64_t stored_a = context.in(kA + 1).numel(), stored_b = context.in(kB + 1).numel();
  const std::int64_t per_row = (stored_a / std::max<std::int64_t>(rows, 1) + 1) *
                               (stored_b / std::max<std::int64_t>(inner, 1) + 1);
  const std::int64_t grain = std::max<std::int64_t>(1, kTaskMultiplications / per_row);
  const std::int64_t blocks = (rows + grain - 1) / grain;
  const auto turned = std::make_shared<TurnedOperands>();
  return [=](KernelContext& run) {
    visit_indices(run.in(kA + 1), [&](const auto* first_index) {
      using Index = std::remove_cvref_t<decltype(*first_index)>;
      Rows<Index> a = checked_rows<Index>(run, kA + 1, columns_a),
                  b = checked_rows<Index>(run, kB + 1, columns_b);
      const Rows<Index> result = checked_rows<Index>(run, kResult, columns);
      a = turned_a ? turned->of(true, Index()).turn(a, rows_a, columns_a) : a;
      b = turned_b ? turned->of(false, Index()).turn(b, rows_b, columns_b) : b;
      const bool by_vector = columns == 1 && is_vector(b, inner) && is_vector(result, rows);
      visit_dtype(run.out().dtype(), [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t step_a = run.in(kA).shape()[0] == 1 ? 0 : stored_a,
                           step_b = run.in(kB).shape()[0] == 1 ? 0 : stored_b;
        const std::int64_t stored = run.out().shape()[1];
        parallel_tasks(run.out().shape()[0] * blocks, [&](std::int64_t task) {
          const std::int64_t n = task / blocks, first = task % blocks * grain;
          const std::int64_t last = std::min(rows, first + grain);
          const T *a_values = run.in(kA).data<T>() + n * step_a,
                  *b_values = run.in(kB).data<T>() + n * step_b;
          T* out = run.out().data<T>() + n * stored;
          if (by_vector) {
            multiply_by_vector(a_values, a, b_values, out, first, last);
            return;
          }
          auto* whole = reinterpret_cast<double*>(
              thread_scratch(static_cast<std::size_t>(columns) * sizeof(double)));
          multiply_rows(a_values, a, b_values, b, out, result, first, last, whole);
        });
      });
    });
  };
}

}  // namespace antichain::cpu
