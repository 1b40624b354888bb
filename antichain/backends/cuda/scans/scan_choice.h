// Which way scans are computed on a GPU, and why.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/measured_choices.h"
#include "antichain/graph/graph.h"

namespace antichain::cuda {

/// What an affine scan computes, from its sizes alone.
struct AffineSizes {
  std::int64_t steps = 0;
  std::int64_t places = 0;  // numbers or vectors beside each other in a step
  std::int64_t size = 1;    // of a vector; 1 for diagonals
  bool matrices = false;
  DType dtype = DType::f32;

  /// By the shapes of a and b.
  static AffineSizes of(const Shape& a, const Shape& b, DType dtype);
};

/// What an op asks for: attributes of affine_scan, empty and 0 where the choice is ours.
struct ScanRequest {
  std::string algorithm = {};
  std::int64_t chunk = 0;
  static ScanRequest of(const Attrs& attrs);
};

struct ScanChoice {
  std::string algorithm;   // serial or chunked
  std::int64_t chunk = 0;  // steps, of chunked; all of them otherwise
  std::string reason;      // "step by step about 1.2 ms, in chunks 0.031 ms"
};

/// Chooses by estimates for an H200. A scan that fits into one chunk is serial.
ScanChoice choose_affine_scan(const AffineSizes& sizes, const ScanRequest& request);

/// Says which algorithm computes an affine_scan or a weighted_scan at these sizes, and why, with
/// what was measured on a GPU; empty for other ops.
std::string explain_scan(Op op, const DimEnv& sizes, const MeasuredChoices* measured = nullptr);

}  // namespace antichain::cuda
