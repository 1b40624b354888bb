// Rows of -1 and 1 that are orthogonal: where there are fewer of them than columns, or not a power
// of two, their columns are not, and estimates from them have an error.
#pragma once

#include <cstdint>

#include "antichain/tensor/tensor.h"

namespace antichain::likelihood {

/// What noise of several sites that are noisy at once shares: each has columns of its own, so that
/// they are orthogonal to each other, too.
struct Columns {
  std::int64_t first = 0, all = 0;  // all: 0 where a site has too many for a matrix
};

/// Returns rows [count, width] of the Hadamard matrix of the next power of two, without its first
/// column, which is the same in all rows: its columns from `first` on.
Tensor hadamard_rows(std::int64_t count, std::int64_t first, std::int64_t width, DType dtype);

/// Returns the squared error of an estimate from such rows with random signs, of the columns of one
/// site, as a multiple of the squared length of the gradient by all columns: an average over where
/// in the columns that length is.
double orthogonal_error(std::int64_t count, const Columns& columns, std::int64_t width);

}  // namespace antichain::likelihood
