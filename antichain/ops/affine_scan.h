// affine_scan: all states of an affine recurrence, the operation that back-propagation through a
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

/// Returns the states s[t] = a[t] s[t - 1] + b[t] with s[-1] = initial; in reverse
/// s[t] = a[t] s[t + 1] + b[t] with initial behind the end. b is [time, ..., n], initial is
/// [..., n], and a is [time, ..., n, n], a matrix per step and place, or [time, ..., n], its
/// diagonal.
Var affine_scan(const Operand& a, const Operand& b, const Operand& initial,
                const AffineScanOptions& options = {});

/// What every step has beside it, where `end` lies in front of the first step or behind the last
/// one: in front of a scan its initial value, behind it that of the scan in reverse.
struct Neighbours {
  Var beside;  // per step: the value at the step towards the end
  Var far;     // the value at the step that is farthest from the end; `end` where there is no step
};
Neighbours neighbours(Var values, Var end, bool end_in_front);

const OpDef& affine_scan_def();

/// Returns whether a scan has matrices; otherwise it has diagonals.
bool has_matrices(Op affine_scan);

std::vector<const OpDef*> scan_family();

}  // namespace antichain
