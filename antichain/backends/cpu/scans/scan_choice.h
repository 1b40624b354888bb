// Which way a scan is computed on the CPU, and why.
#pragma once

#include <string>

#include "antichain/backends/cpu/scans/scan_costs.h"
#include "antichain/backends/cpu/scans/scan_lanes.h"

namespace antichain::cpu {

/// What an op asks for: attributes of affine_scan, empty and 0 where the choice is ours.
struct ScanRequest {
  std::string algorithm = {};
  std::int64_t chunk = 0;
};

struct ScanChoice {
  std::string algorithm;
  std::int64_t chunk = 0;  // steps; of hybrid and chunked
  std::string reason;      // "step by step about 1.2 ms, in chunks 3.1 ms"
};

/// Chooses by estimates for a machine with so many cores. It does not depend on how many threads
/// are used just now: results have the same bits on any number.
ScanChoice choose_scan(const ScanShape& shape, const ScanRequest& request, int cores,
                       const ScanCosts& costs = {});

/// Returns how many cores this machine has.
int cores_of_machine();

}  // namespace antichain::cpu
