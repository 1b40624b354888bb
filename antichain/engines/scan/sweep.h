// The order in which a scan over a few matrices multiplies them: from the gradient at the end of a
// sequence of stages, and the transposed Jacobian of each, to the gradients before all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antichain/engines/scan/csr_pattern.h"

namespace antichain::scan {

/// One multiplication. Operands are numbered: 0 is the gradient, 1 … n are the Jacobians from the
/// last stage to the first, and the result of step k is n + 1 + k.
struct SweepStep {
  int left, right;  // left · right; only `right` may be a vector
  bool to_vector;   // the right one is a vector, and so is the result
  int depth;        // steps of one depth do not need each other
};

struct Sweep {
  int stages = 0;
  std::vector<SweepStep> steps;
  std::vector<int> gradients;  // before the last stage, before the one before it, …
  int depth() const;
};

/// Plans a sweep by an algorithm of affine_scan: `serial` multiplies vectors alone; `blelloch` goes
/// up a tree of matrices and down again with vectors (Wang, Bai and Pekhimenko, 2020, algorithm 1);
/// `hybrid` stops at blocks of `chunk` operands, a power of two, and takes these one by one;
/// `chunked` multiplies the matrices of `chunk` stages in a row. Chunk 0 is chosen here; no name is
/// blelloch.
Sweep plan_sweep(int stages, const std::string& algorithm, std::int64_t chunk = 0);

/// What a sweep costs, in floating-point operations: a multiplication and an addition are two.
struct SweepCost {
  std::vector<std::int64_t> steps;  // one by one
  std::int64_t total = 0;
  std::int64_t critical = 0;  // of the steps that have to wait for each other
  std::int64_t largest = 0;   // of a step
  std::int64_t stored = 0;    // most elements of a product
};
/// Counts by the patterns of the Jacobians, from the last stage to the first, whose products have
/// patterns in turn: no value is looked at.
SweepCost count_operations(const Sweep& sweep, const std::vector<CsrPattern>& jacobians);

}  // namespace antichain::scan
