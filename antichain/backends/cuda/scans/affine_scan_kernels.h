// Affine scans in three phases: the product of every chunk of steps, from chunk to chunk, and all
// chunks at once step by step. Of f32 and f64, with diagonals (device/affine_columns.cuh), with
// matrices that lanes of a warp keep in registers (affine_narrow.cuh) and with larger ones, whose
// products are batched products of matrices (affine_wide.cuh).
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_affine_scan(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
