// Matrix products by the BLAS library, where there is one.
#pragma once

#include "antichain/backends/cpu/products/product_kernel.h"

namespace antichain::cpu {

/// Adds the kernel; without a BLAS library it refuses every op and says so.
void add_blas_matmul(std::vector<ProductKernel>& products);

}  // namespace antichain::cpu
