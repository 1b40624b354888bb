// Weighted scans by the three phases of device/weighted_scan.cuh, of f32.
#pragma once

#include <string>

#include "antichain/backends/cuda/device_context.h"
#include "antichain/ops/weighted_scan.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// What a scan is as large as.
struct WeightedSizes {
  std::int64_t steps, places, units;
  bool adds;  // something in each step
};

/// Returns how many steps a chunk has so that the three phases take least, by estimates for an
/// H200; all of them where one walk is faster.
std::int64_t choose_chunk(const WeightedForm& form, const WeightedSizes& sizes);

/// Returns the kernels for a form.
std::string weighted_scan_text(const WeightedForm& form, std::int64_t units, bool adds);

void register_weighted_scan(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
