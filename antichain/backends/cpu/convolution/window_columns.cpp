#include "antichain/backends/cpu/convolution/window_columns.h"

#include <algorithm>
#include <limits>

#include "antichain/base/error.h"

namespace antichain::cpu {

namespace {

bool all(const Ints& values, std::int64_t value) {
  return std::ranges::all_of(values, [value](std::int64_t other) { return other == value; });
}

}  // namespace

WindowColumns::WindowColumns(const ConvSizes& sizes)
    : channels_(sizes.in),
      input_(numel(sizes.windows.input)),
      window_(numel(sizes.windows.window)),
      windows_(numel(sizes.windows.output)),
      x_(sizes.x),
      are_x_(window_ == 1 && all(sizes.windows.steps.stride, 1) &&
             all(sizes.windows.steps.padding, 0)) {
  require<NotSupported>(input_ <= std::numeric_limits<std::int32_t>::max(),
                        "conv: {} positions in one channel are too many for the BLAS kernel",
                        input_);
  if (are_x_) {
    return;
  }
  positions_.reserve(static_cast<std::size_t>(window_ * windows_));
  for (std::int64_t element = 0; element < window_; ++element) {
    for (std::int64_t window = 0; window < windows_; ++window) {
      positions_.push_back(
          static_cast<std::int32_t>(sizes.windows.input_position(window, element)));
    }
  }
}

}  // namespace antichain::cpu
