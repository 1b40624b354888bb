#include "antichain/engines/scan/walk_choice.h"

#include <fmt/format.h>

#include <cmath>

#include "antichain/engines/scan/stacked_body.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/op_cost.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::scan {

namespace {

// Measured by bench_scan on a server CPU; only their ratios matter.
constexpr double kTimesForward = 2;        // to compute an op of a body again and to reverse it
constexpr double kSecondsPerEntry = 5e-9;  // of a matrix: found, moved to its place, applied
constexpr double kSecondsPerDiagonal = 1.5e-9;  // entry likewise
constexpr double kUnknownSize = 32;             // of an axis of which no size is expected

// Estimates for an H200. Step by step, a chain is one kernel that waits for the results of an op
// before the next; a scan is some kernels for all steps, bound by reading and writing Jacobians,
// and by products of them.
constexpr double kSecondsPerOpOfGpu = 0.15e-6;  // of a body
constexpr double kSecondsOfScan = 50e-6;        // whatever its length is
constexpr double kSecondsPerEntryOfGpu = 40e-12;
constexpr double kSecondsPerMultiplyAdd = 0.1e-12;
constexpr double kUnknownLength = 1000;
constexpr double kMostJacobianBytes = 1 << 30;  // of all steps; there are copies of them for a time

// Measured by bench_gpu_scan on an H200, of weights between diagonals: a product of 16 x 8 x 8 by
// tensor cores, of which numbers in f32 take three; all kernels; a step by itself, by a warp where
// states are narrow.
constexpr double kSecondsPerProduct = 13e-12, kOfWideStates = 2.5;
constexpr double kSecondsOfWeightedScan = 30e-6;
constexpr double kSecondsOfNarrowStep = 0.06e-6, kSecondsOfNarrowWeight = 0.07e-6;
constexpr double kSecondsOfWideStep = 0.3e-6, kSecondsPerUnit = 6e-9;
constexpr double kMostNarrowUnits = 32, kMostFittingUnits = 64;

double expected(Dim dim, double otherwise) {
  return static_cast<double>(dim.expected().value_or(static_cast<std::int64_t>(otherwise)));
}

double size_of_axes(const Dims& axes) {
  double size = 1;
  for (Dim dim : axes) {
    size *= expected(dim, kUnknownSize);
  }
  return size;
}

std::string microseconds(double seconds) { return fmt::format("{:.2g} us", seconds * 1e6); }
std::string milliseconds(double seconds) { return fmt::format("{:.2g} ms", seconds * 1e3); }

std::string jacobians_of(const JointState& joint) {
  return joint.is_diagonal() ? "diagonal Jacobians"
                             : fmt::format("Jacobians of {0} x {0}", joint.size.constant());
}

WalkChoice choose_on_cpu(Op chain, const JointState& joint) {
  const auto size = static_cast<double>(joint.size.constant());
  const double entries = size_of_axes(joint.batch_axes) * size * size;
  const double scan = entries * (joint.is_diagonal() ? kSecondsPerDiagonal : kSecondsPerEntry);
  double serial = 0;
  const DimEnv sizes = chain.graph().dims().expected_sizes();
  for (Op op : schedule_region(chain.graph(), chain.regions()[0])) {
    serial += kTimesForward * estimated_seconds(op, sizes);
  }
  const bool by_scan = scan < serial;
  return {by_scan, fmt::format("{}: a step takes about {} by a scan of {}, {} by itself",
                               by_scan ? "by a scan" : "step by step", microseconds(scan),
                               jacobians_of(joint), microseconds(serial))};
}

WalkChoice choose_on_gpu(Op chain, const JointState& joint) {
  const DType dtype = chain.input(joint.parts[0].state).dtype();
  if (dtype != DType::f32 && dtype != DType::f64) {
    return {false, fmt::format("step by step: this device scans f32 and f64, not {}", name(dtype))};
  }
  if (joint.is_diagonal()) {
    return {true, "by a scan of diagonal Jacobians"};
  }
  const Dim steps = chain.attrs().get<Dim>("length");
  if (!steps.expected()) {
    return {false, fmt::format("step by step: {} of all steps may take any memory, since nobody "
                               "has said how many steps to expect (DimInfo::expected of {})",
                               jacobians_of(joint), steps.str())};
  }
  const auto length = static_cast<double>(*steps.expected());
  const auto size = static_cast<double>(joint.size.constant());
  const double entries = length * size_of_axes(joint.batch_axes) * size * size;
  const double bytes = entries * static_cast<double>(size_of(dtype));
  if (bytes > kMostJacobianBytes) {
    return {false, fmt::format("step by step: {} of all steps would take {:.2g} GiB",
                               jacobians_of(joint), bytes / kMostJacobianBytes)};
  }
  const double scan =
      kSecondsOfScan + entries * (kSecondsPerEntryOfGpu + kSecondsPerMultiplyAdd * size);
  const std::vector<Op> ops = schedule_region(chain.graph(), chain.regions()[0]);
  const double serial =
      length * kTimesForward * kSecondsPerOpOfGpu * static_cast<double>(ops.size());
  const bool by_scan = scan < serial;
  return {by_scan,
          fmt::format("{}: {:.0f} steps take about {} by a scan of {}, {} one after the other",
                      by_scan ? "by a scan" : "step by step", length, milliseconds(scan),
                      jacobians_of(joint), milliseconds(serial))};
}

}  // namespace

WalkChoice choose_weighted_walk(Op chain) {
  const JointState joint(chain);
  const double length = expected(chain.attrs().get<Dim>("length"), kUnknownLength);
  const auto units = static_cast<double>(joint.parts[0].size.constant());
  double weights = 0;
  for (Op op : schedule_region(chain.graph(), chain.regions()[0])) {
    weights += &op.def() == &matmul_def() ? expected(op.output().dim(-1), units) / units : 0;
  }
  const double rows = size_of_axes(joint.batch_axes) * static_cast<double>(joint.size.constant());
  const double eights = std::ceil(units / 8);
  const double step = rows / 16 * 3 * weights * eights * eights * kSecondsPerProduct *
                      (units > kMostFittingUnits ? kOfWideStates : 1);
  const double serial_step =
      units <= kMostNarrowUnits
          ? kSecondsOfNarrowStep + kSecondsOfNarrowWeight * weights
          : (kSecondsOfWideStep + kSecondsPerUnit * units) * (1 + weights) / 2;
  const double scan = kSecondsOfWeightedScan + length * step, serial = length * serial_step;
  const bool by_scan = scan < serial;
  return {by_scan,
          fmt::format("{}: {:.0f} steps take about {} by a scan of weights that stay the same, "
                      "between diagonals, {} one after the other",
                      by_scan ? "by a scan" : "step by step", length, milliseconds(scan),
                      milliseconds(serial))};
}

WalkChoice choose_walk(Op chain, DeviceKind device) {
  if (const std::string reason = why_not_stacked(chain); !reason.empty()) {
    return {false, "step by step, since " + reason};
  }
  const JointState joint(chain);
  if (joint.parts.empty()) {
    return {true, "all steps at once, since nothing is carried between them"};
  }
  return device == DeviceKind::cpu ? choose_on_cpu(chain, joint) : choose_on_gpu(chain, joint);
}

}  // namespace antichain::scan
