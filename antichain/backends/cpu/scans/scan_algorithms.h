// The ways to compute a scan on the CPU, behind one interface.
#pragma once

#include <memory>

#include "antichain/backends/cpu/scans/scan_lanes.h"

namespace antichain::cpu {

/// Computes scans of one shape. It keeps the memory that it works in.
class ScanAlgorithm {
 public:
  virtual ~ScanAlgorithm() = default;
  virtual void run(const ScanLanes& lanes) = 0;
};

/// Walks step by step, lanes at the same time.
std::unique_ptr<ScanAlgorithm> make_serial_scan(const ScanShape& shape);

/// Sweeps up and down trees of 2^levels steps, and from tree to tree one by one: Wang, Bai and
/// Pekhimenko, "BPPSA: Scaling back-propagation by parallel scan algorithm", MLSys 2020. Levels
/// above what all steps need make one tree of them, which is the algorithm of Blelloch (1990).
std::unique_ptr<ScanAlgorithm> make_tree_scan(const ScanShape& shape, int levels);
inline constexpr int kWholeTree = 62;  // levels for any number of steps

/// Multiplies the steps of every chunk, walks from chunk to chunk, and walks the steps of every
/// chunk from where it starts: chunks at the same time.
std::unique_ptr<ScanAlgorithm> make_chunked_scan(const ScanShape& shape, std::int64_t chunk);

}  // namespace antichain::cpu
