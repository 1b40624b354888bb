// Kernels that normalise along axes: softmax and the norms.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds softmax, log_softmax, cross_entropy, layer_norm, batch_norm and batch_norm_inference at
/// every level.
void register_rowwise(KernelTable& kernels);

}  // namespace antichain::cpu
