// Weighted scans by the three phases of device/weighted_scan.cuh, of f32.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/ops/scans/weighted_scan.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// Returns the kernels for a form.
std::string weighted_scan_text(const WeightedForm& form, std::int64_t units, bool adds);

void register_weighted_scan(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
