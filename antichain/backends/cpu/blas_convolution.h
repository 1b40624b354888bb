// Convolution and its gradients by the BLAS library, where there is one.
#pragma once

#include "antichain/backends/cpu/conv_plan.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds the kernels; without a BLAS library they refuse every op and say so.
void register_blas_convolution(KernelTable& kernels);

#ifdef ANTICHAIN_HAS_BLAS
/// Plans a convolution as products of columns, in f64 or f32, as which sixteen-bit floats are
/// computed.
KernelFunction plan_column_conv(const KernelContext& context, ConvPart part);
#endif

}  // namespace antichain::cpu
