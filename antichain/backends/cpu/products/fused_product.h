// Products and the element-wise ops behind them, computed together.
//
// The product is cut into the blocks of the product's own kernel, so it has the same bits. Each
// block goes to memory of the thread that computed it, and from there through the element-wise
// steps to its place in the outputs: the product as a whole is nowhere. What the steps compute is
// rounded as if each op stood alone; none of the libraries' own epilogues is used.
#pragma once

#include <memory>
#include <vector>

#include "antichain/backends/cpu/products/product_kernel.h"

namespace antichain::cpu {

class JitCompiler;  // antichain/backends/cpu/jit/jit_compiler.h

/// Adds a kernel per kernel of a product and level, in the order in which those of products are
/// tried: the one that computes the product is the one that would if it stood alone.
void register_fused_products(KernelTable& kernels, const std::vector<ProductKernel>& products,
                             const std::shared_ptr<JitCompiler>& jit = nullptr);

}  // namespace antichain::cpu
