// Which loops a reduction of an element type runs, at one instruction-set level.
#pragma once

#include "antichain/backends/cpu/reduction.h"

namespace antichain::cpu {

/// Knows the loops of one level.
struct FoldLevel {
  SimdLevel level;
  const FoldTable* table;

  FoldStage stage(Fold fold, DType dtype) const { return {fold, table->find(fold, dtype)}; }
};

}  // namespace antichain::cpu
