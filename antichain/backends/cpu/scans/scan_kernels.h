// Kernels of affine_scan.
#pragma once

#include "antichain/backends/cpu/scans/scan_lanes.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Returns what an affine_scan computes at the sizes of the context.
ScanShape scan_shape(const KernelContext& context);

/// Says which algorithm computes an affine_scan at these sizes, and why.
std::string explain_scan(Op affine_scan, const DimEnv& sizes);

void register_scans(KernelTable& kernels);

}  // namespace antichain::cpu
