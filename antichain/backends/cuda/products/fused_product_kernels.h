// Products and the element-wise ops behind them: the product by its own kernel, all the rest by one
// generated kernel that works on what the product has left in an output.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// Returns the kernel that computes fused products of kind `def` by one of that kind.
Kernel fused_product_kernel(const OpDef& def, const Kernel& product, const Context& device);

/// Adds kernels for fused products of every kind of product that has kernels by now.
void register_fused_products(KernelTable& kernels, const Context& context);

/// Returns the generated kernel of a fused product at the sizes and layouts of a context.
std::string fused_product_code(const KernelContext& context);

}  // namespace antichain::cuda
