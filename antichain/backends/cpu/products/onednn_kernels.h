// Kernels by oneDNN, where it is there.
#pragma once

#include "antichain/backends/cpu/products/product_kernel.h"

namespace antichain::cpu {

/// Adds the kernels; in a build without oneDNN they refuse every op and say so.
void add_onednn_matmul(std::vector<ProductKernel>& products);
void add_onednn_convolution(std::vector<ProductKernel>& products);
/// Returns what it saves that an op computes with channels last: see Backend::channels_last_gain.
double onednn_channels_last_gain(Op op);

}  // namespace antichain::cpu
