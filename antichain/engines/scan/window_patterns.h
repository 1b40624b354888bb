// Patterns of the transposed Jacobians of ops that slide windows over an image: convolution and
// pooling. A row per number of the input, a column per number of the output, of one example.
#pragma once

#include <functional>

#include "antichain/engines/scan/csr_pattern.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain::scan {

/// Says what a convolution does to one example.
struct ConvGeometry {
  Windows windows;
  std::int64_t in_channels = 1, out_channels = 1, groups = 1;
  AxisOrder order = {};

  /// Returns how many numbers the weight [out, in / groups, window...] has.
  std::int64_t weight_size() const;
};

/// A pattern whose elements are elements of a weight, which stay where they are: `source` says
/// which.
struct WeightPattern {
  CsrPattern pattern;
  std::vector<std::int32_t> source;
};

/// Returns where the transposed Jacobian of a convolution has which element of the weight. `keeps`,
/// if given, says which of them may be other than zero: pruned ones have no position.
WeightPattern conv_pattern(const ConvGeometry& conv,
                           const std::function<bool(std::int64_t weight)>& keeps = {});

/// Returns that of pooling: every window has a position for each of its elements.
CsrPattern pool_pattern(const Windows& windows, std::int64_t channels, AxisOrder order);

}  // namespace antichain::scan
