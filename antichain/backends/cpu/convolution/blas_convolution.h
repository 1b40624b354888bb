// Convolution and its gradients by the BLAS library, where there is one.
#pragma once

#include "antichain/backends/cpu/convolution/conv_plan.h"

namespace antichain::cpu {

/// Adds the kernels; without a BLAS library they refuse every op and say so.
void add_blas_convolution(std::vector<ProductKernel>& products);

#ifdef ANTICHAIN_HAS_BLAS
/// Plans a convolution as products of columns, in f64 or f32, as which sixteen-bit floats are
/// computed.
ProductPlan plan_column_conv(const KernelContext& context, ConvPart part, Destination to);
#endif

}  // namespace antichain::cpu
