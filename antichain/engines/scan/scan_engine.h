// Engine `scan`: back-propagation through a chain as a parallel scan over its steps (Wang, Bai and
// Pekhimenko, 2020: "BPPSA: Scaling back-propagation by parallel scan algorithm").
//
// With S[t] the states before step t and G[t] their gradients, G[t] = J[t]ᵀ G[t + 1] + l[t]: J[t]
// is the Jacobian of step t, l[t] what comes from its other outputs. All steps are known by then,
// so
//   1. the body is computed for all steps at once, from the stacked states;
//   2. so are the Jacobians: along one unit vector where the body is element-wise, along as many as
//      it mixes numbers of a state otherwise;
//   3. one op, affine_scan, finds all G; or weighted_scan where the Jacobians are weights that stay
//      the same between diagonals, as in recurrent layers (weighted_jacobian.h): then they are not
//      written down;
//   4. the gradients of sequences and captured values follow from G for all steps at once: those of
//      weights are one product.
// A `call`, which is also what `grad` makes of everything that an engine is named for, has no steps
// but stages: the values that all paths go through cut it (stage_cuts.h). Transposed Jacobians of
// stages are sparse matrices whose patterns are known when the graph is built (jacobian_rules.h);
// gradients between stages come by products of them in the order of a scan (stack_walk.h), and
// those of weights from each stage by itself.
//
// Everything is ordinary ops of the graph, so it can be differentiated again.
// docs/design/scan.md says more.
#pragma once

#include <memory>
#include <string>

#include "antichain/autodiff/engine.h"
#include "antichain/base/logger.h"
#include "antichain/tensor/device.h"

namespace antichain {

/// When the engine walks back by a scan; otherwise step by step, as back-propagation does.
enum class ScanWhen { always, where_faster, never };

/// What the engine's options are where nobody sets them, and what the device can do.
struct ScanOptions {
  std::string algorithm = {};  // attributes of affine_scan; empty and 0: the backend chooses
  std::int64_t chunk = 0;
  ScanWhen when = ScanWhen::always;
  bool weighted = false;  // the backend computes weighted_scan: weights need not become matrices
  DeviceKind device = DeviceKind::cpu;  // whose speed decides what is faster
  Logger logger = Logger();             // is told of chains that Newton's method cannot run
};

std::unique_ptr<GradientEngine> make_scan_engine(const ScanOptions& options = {});

}  // namespace antichain
