// What the sources compiled per level give to the steps of optimisers.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/loops.h"

namespace antichain::cpu {

/// Applies a rule to the elements [first, last) of packed states; `after` may be the memory of
/// `before`. The numbers are those of antichain/ops/state/update_ops.h.
using UpdateLoop = void (*)(const void* const* before, void* const* after, const void* gradient,
                            const double* numbers, std::int64_t first, std::int64_t last);

using UpdateRow = RowOf<UpdateLoop>;
using UpdateTable = TableOf<UpdateLoop>;

/// Returns the loops of the operators, by element type of the gradient.
template <SimdLevel>
UpdateTable update_loops();

}  // namespace antichain::cpu
