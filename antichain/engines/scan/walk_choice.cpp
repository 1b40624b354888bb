#include "antichain/engines/scan/walk_choice.h"

#include <fmt/format.h>

#include "antichain/engines/scan/stacked_body.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/op_cost.h"

namespace antichain::scan {

namespace {

// Measured by bench_scan on a server CPU; only their ratios matter.
constexpr double kTimesForward = 2;        // to compute an op of a body again and to reverse it
constexpr double kSecondsPerEntry = 5e-9;  // of a matrix: found, moved to its place, applied
constexpr double kSecondsPerDiagonal = 1.5e-9;  // entry likewise
constexpr double kUnknownSize = 32;             // of an axis whose size only a run tells

double size_of_places(const Dims& places) {
  double size = 1;
  for (Dim dim : places) {
    size *= dim.is_constant() ? static_cast<double>(dim.constant()) : kUnknownSize;
  }
  return size;
}

std::string microseconds(double seconds) { return fmt::format("{:.2g} us", seconds * 1e6); }

}  // namespace

WalkChoice choose_walk(Op chain) {
  if (const std::string reason = why_not_stacked(chain); !reason.empty()) {
    return {false, "step by step, since " + reason};
  }
  const JointState joint(chain);
  if (joint.parts.empty()) {
    return {true, "all steps at once, since nothing is carried between them"};
  }
  const auto size = static_cast<double>(joint.size.constant());
  const double entries = size_of_places(joint.places) * size * size;
  const double scan = entries * (joint.is_diagonal() ? kSecondsPerDiagonal : kSecondsPerEntry);
  double serial = 0;
  for (Op op : schedule_region(chain.graph(), chain.regions()[0])) {
    serial += kTimesForward * estimated_seconds(op, DimEnv());
  }
  const bool by_scan = scan < serial;
  const std::string jacobian = joint.is_diagonal()
                                   ? "diagonal Jacobians"
                                   : fmt::format("Jacobians of {0} x {0}", joint.size.constant());
  return {by_scan, fmt::format("{}: a step takes about {} by a scan of {}, {} by itself",
                               by_scan ? "by a scan" : "step by step", microseconds(scan), jacobian,
                               microseconds(serial))};
}

}  // namespace antichain::scan
