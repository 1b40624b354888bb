// Patterns of sparse matrices as inputs of ops: columns[stored] and row_starts[rows + 1].
#pragma once

#include "antichain/graph/infer_context.h"
#include "antichain/ops/reference/compute.h"

namespace antichain {

/// Checks the pattern at inputs `columns` and `columns + 1` and its number of columns; returns its
/// number of rows.
Dim require_pattern(InferContext& context, int columns, Dim num_columns);
/// Checks two inputs of the same float type, and returns it.
DType require_floats(const InferContext& context, int first, int second);

/// Calls f(element, row, column) for every stored element of the pattern at inputs `columns_input`
/// and the next; throws DataError when the pattern is broken.
template <class F>
void for_each_stored(const KernelContext& context, int columns_input, std::int64_t num_columns,
                     F&& f) {
  const auto columns = load<std::int64_t>(context.in(columns_input));
  const auto row_starts = load<std::int64_t>(context.in(columns_input + 1));
  const std::int64_t stored = static_cast<std::int64_t>(columns.size());
  require<DataError>(row_starts.front() == 0 && row_starts.back() == stored,
                     "{}: row_starts must go from 0 to the number of stored elements, {}, "
                     "but it goes from {} to {}",
                     context.where, stored, row_starts.front(), row_starts.back());
  for (std::size_t row = 1; row < row_starts.size(); ++row) {
    require<DataError>(row_starts[row - 1] <= row_starts[row],
                       "{}: row_starts must not decrease, but {} follows {} at position {}",
                       context.where, row_starts[row], row_starts[row - 1], row);
  }
  for (std::size_t row = 0; row + 1 < row_starts.size(); ++row) {
    for (std::int64_t i = row_starts[row]; i < row_starts[row + 1]; ++i) {
      const std::size_t element = static_cast<std::size_t>(i);
      require<DataError>(columns[element] >= 0 && columns[element] < num_columns,
                         "{}: stored element {} is in column {}, outside [0, {})", context.where, i,
                         columns[element], num_columns);
      f(element, row, static_cast<std::size_t>(columns[element]));
    }
  }
}

}  // namespace antichain
