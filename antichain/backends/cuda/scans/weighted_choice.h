// Into how many chunks and groups of chunks a weighted scan is cut.
#pragma once

#include <vector>

#include "antichain/backends/cuda/device/weighted_layout.cuh"
#include "antichain/ops/scans/weighted_scan.h"

namespace antichain::cuda {

/// What a scan is as large as.
struct WeightedSizes {
  std::int64_t steps, places, units;
  bool adds;  // something in each step
};

device::ScanLayout scan_layout(const WeightedForm& form, std::int64_t units, bool adds);

/// Returns how many steps a chunk has so that all phases together take least, by estimates for an
/// H200; all of them where one walk is faster.
std::int64_t choose_chunk(const WeightedForm& form, const WeightedSizes& sizes);

/// Returns chunks that may be faster than an estimated one, the next longer and shorter ones.
std::vector<std::int64_t> chunks_near(std::int64_t estimated);

/// Returns how many chunks make a group; all of them where that is faster.
std::int64_t choose_group(const device::ScanLayout& layout, std::int64_t chunks);

}  // namespace antichain::cuda
