// What the sources compiled per level give to scans: loops over the steps of s := A s + b.
//
// States and products are double, whatever the elements are. A product of steps is kept as numbers
// times a power of two, per column or per matrix: products of many steps leave the range of any
// float, while what they are applied to brings them back.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

/// What some steps do together: s -> factor * 2^exponent * s + offset. Of `width` columns the
/// factor is a number and an exponent each; of matrices it is width * width numbers, by rows, with
/// one exponent.
struct AffineMap {
  double* factor;
  std::int64_t* exponent;
  double* offset;
};

/// Steps that follow each other: elements of a step, and how far apart those of two steps are.
struct ScanSteps {
  const void* a;
  const void* b;
  std::int64_t a_stride, b_stride;  // in elements, negative when time runs backwards
  std::int64_t count;
  std::int64_t width;       // numbers in a state
  bool transposed = false;  // of matrices
};

/// The loops of one kind of A (columns or matrices) and one element type. `work` has room for
/// scan_work_size numbers.
struct ScanLoops {
  /// Walks the steps from `state`, writes the state before each to `out`, as far apart as b, and
  /// leaves the last in `state`.
  void (*run)(const ScanSteps& steps, double* state, void* out, double* work);
  /// Sets `map` to what all steps do together.
  void (*multiply)(const ScanSteps& steps, const AffineMap& map, double* work);
  /// Sets `later` to what `earlier` and then `later` do.
  void (*join)(const AffineMap& earlier, const AffineMap& later, std::int64_t width, double* work);
  /// Sets `to` to what the map makes of `from`, which is another place.
  void (*apply)(const AffineMap& map, const double* from, double* to, std::int64_t width);
};

inline std::int64_t scan_work_size(bool matrices, std::int64_t width) {
  return matrices ? width * width + 2 * width : 2 * width;
}

template <SimdLevel>
const ScanLoops& scan_loops(bool matrices, DType dtype);

}  // namespace antichain::cpu
