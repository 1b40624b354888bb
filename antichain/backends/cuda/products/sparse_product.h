// Products of two sparse matrices at the stored positions of a third (csr_product): a warp per row
// of the result.
//
// Terms are added up in double, in an order that the patterns decide, also where elements of a row
// come twice: results have the same bits in every run.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

KernelFunction plan_csr_product(const KernelContext& context, const Context& device);

/// Returns the kernels for these element types; a turned pattern is one of long long that says
/// which element comes when.
std::string csr_product_text(DType dtype, DType index, bool turned_a, bool turned_b);

}  // namespace antichain::cuda
