// What the sources compiled per level give to products with rows of matrices.
#pragma once

#include <cstdint>
#include <span>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

/// A row that is to be added up, and what it is multiplied with.
struct ScaledRow {
  double factor;
  const void* row;
};

/// Loops over rows of one float type; sums are double, so that their order hardly shows.
struct RowLoops {
  /// Returns the inner product of two rows.
  double (*dot)(const void* a, const void* b, std::int64_t width);
  /// Adds scaled rows to sums, one after the other.
  void (*add)(std::span<const ScaledRow> rows, double* sums, std::int64_t width);
  /// Rounds sums to a row; returns whether one of its numbers is not zero.
  bool (*round)(const double* sums, void* row, std::int64_t width);
};

/// Returns the loops for rows of this type.
template <SimdLevel>
const RowLoops& row_loops(DType dtype);

}  // namespace antichain::cpu
