// What the sources compiled per level give to the element-wise kernels: loops over packed elements.
#pragma once

#include <cstdint>
#include <string_view>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

/// Computes `count` elements of `out` from packed inputs. `out` may be the memory of an input whose
/// elements have the same size.
using ElementLoop = void (*)(const void* const* in, void* out, std::int64_t count);

/// The loops of one operator, by element type of its inputs; nullptr where it takes no such type.
template <class Loop>
struct RowOf {
  const char* op;
  Loop loops[kNumDTypes];
};

template <class Loop>
struct TableOf {
  const RowOf<Loop>* rows;
  int num_rows;

  /// Returns the row of an operator, or nullptr.
  const RowOf<Loop>* find(std::string_view op) const {
    for (int i = 0; i < num_rows; ++i) {
      if (op == rows[i].op) {
        return &rows[i];
      }
    }
    return nullptr;
  }
};

using LoopRow = RowOf<ElementLoop>;
using LoopTable = TableOf<ElementLoop>;

/// Returns the loops of the operators with one input and with two.
template <SimdLevel>
LoopTable unary_loops();
template <SimdLevel>
LoopTable binary_loops();
// GCC 12 exports explicit specialisations in spite of -fvisibility=hidden, unless they return a
// type that is hidden.

/// Returns the loop of `cast`, which converts as antichain::convert does.
template <SimdLevel>
[[gnu::visibility("hidden")]] ElementLoop cast_loop(DType from, DType to);
/// Returns the loop of `select`; the first input is bool.
template <SimdLevel>
[[gnu::visibility("hidden")]] ElementLoop select_loop(DType dtype);
/// Returns the loop of `clip` for a float type; the second input holds two doubles, low and high.
template <SimdLevel>
[[gnu::visibility("hidden")]] ElementLoop clip_loop(DType dtype);

}  // namespace antichain::cpu
