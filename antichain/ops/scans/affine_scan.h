// affine_scan: the states of an affine recurrence, the operation that back-propagation through a
// chain consists of once its steps are linearised (docs/design/scan.md).
#pragma once

#include <string>

#include "antichain/ops/operand.h"

namespace antichain {

/// Names ways to compute a scan. All give the same states up to rounding.
inline constexpr const char* kScanSerial = "serial";      // step by step
inline constexpr const char* kScanBlelloch = "blelloch";  // a tree over all steps, up and down
inline constexpr const char* kScanHybrid = "hybrid";      // a tree per block, blocks one by one
inline constexpr const char* kScanChunked = "chunked";    // products of chunks, chunks, steps

struct AffineScanOptions {
  bool reverse = false;        // from the last step to the first
  bool transposed = false;     // matrices are used transposed
  std::string algorithm = {};  // one of the above; empty: the backend chooses by sizes
  std::int64_t chunk = 0;      // steps that belong together; 0: the backend chooses
};

struct AffineScan {
  Var before;  // the states before each step, stacked
  Var last;    // the state after all steps
};
/// Returns the states of the recurrence s := a[t] s + b[t] that starts at `initial`. b is
/// [time, ..., n], initial is [..., n], and a is [time, ..., n, n], a matrix per step and place, or
/// [time, ..., n], its diagonal.
AffineScan affine_scan(const Operand& a, const Operand& b, const Operand& initial,
                       const AffineScanOptions& options = {});

const OpDef& affine_scan_def();

/// Returns whether a scan has matrices; otherwise it has diagonals.
bool has_matrices(Op affine_scan);

std::vector<const OpDef*> scan_family();

}  // namespace antichain
