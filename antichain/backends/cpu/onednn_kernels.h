// Kernels by oneDNN, where it is there.
#pragma once

#include "antichain/backends/cpu/product_kernel.h"

namespace antichain::cpu {

/// Adds the kernels; in a build without oneDNN they refuse every op and say so.
void add_onednn_matmul(std::vector<ProductKernel>& products);
void add_onednn_convolution(std::vector<ProductKernel>& products);

}  // namespace antichain::cpu
