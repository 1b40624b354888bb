// Affine scans in three phases: the product of every chunk of steps, from chunk to chunk, and all
// chunks at once step by step. Of f32 and f64, with diagonals (device/affine_columns.cuh), with
// matrices that lanes of a warp keep in registers (affine_narrow.cuh) and with larger ones, whose
// products are batched products of matrices (affine_wide.cuh).
#pragma once

#include <string>

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// Returns the kernels for diagonals, for matrices of up to 32 x 32 numbers, and for all others.
std::string column_scan_text(DType dtype);
std::string narrow_scan_text(DType dtype, std::int64_t size, bool transposed);
std::string wide_scan_text(DType dtype, bool transposed);

void register_affine_scan(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
