// Sliding windows over spatial axes, shared by convolution and pooling: how many there are (for
// inference) and which elements each of them covers (for reference kernels). Any number of spatial
// axes.
#pragma once

#include "antichain/graph/infer_context.h"
#include "antichain/tensor/shape.h"

namespace antichain {

/// Says how windows lie on the input, per spatial axis; the padding is on both sides.
struct WindowSteps {
  Ints stride, padding, dilation;

  /// Reads the attributes of those names; an op without dilation has 1 everywhere.
  static WindowSteps of(const Attrs& attrs);
};

/// Requires one sensible step per spatial axis; throws ShapeError naming the op otherwise.
void require_steps(const InferContext& context, const WindowSteps& steps, std::size_t spatial_rank);
/// Returns how many windows there are along each axis. Throws ShapeError when the padded input is
/// smaller than one window, and leaves that check to the run when it is not known yet.
Dims count_windows(InferContext& context, const Dims& input, const Dims& window,
                   const WindowSteps& steps);

/// Says where the channels are: [n, c, spatial...], or [n, spatial..., c].
struct AxisOrder {
  bool channels_last = false;

  /// Reads the attribute of that name.
  static AxisOrder of(const Attrs& attrs) { return {attrs.get<bool>("channels_last")}; }

  template <class T>
  T channels(const std::vector<T>& shape) const {
    return channels_last ? shape.back() : shape[1];
  }
  template <class T>
  std::vector<T> spatial(const std::vector<T>& shape) const {
    return {shape.begin() + (channels_last ? 1 : 2), shape.end() - (channels_last ? 1 : 0)};
  }
  template <class T>
  std::vector<T> shape(T batch, T channels, const std::vector<T>& spatial) const {
    std::vector<T> result = {batch};
    result.insert(result.end(), spatial.begin(), spatial.end());
    result.insert(channels_last ? result.end() : result.begin() + 1, channels);
    return result;
  }
  /// Returns the index of an element: of example n, channel c of `channels`, position `at` of
  /// `positions` in the spatial axes.
  std::size_t index(std::int64_t n, std::int64_t c, std::int64_t channels, std::int64_t at,
                    std::int64_t positions) const {
    return static_cast<std::size_t>(channels_last ? (n * positions + at) * channels + c
                                                  : (n * channels + c) * positions + at);
  }
};

/// Returns the axes of a weight behind its channels.
template <class T>
std::vector<T> spatial_axes(const std::vector<T>& shape) {
  return AxisOrder{}.spatial(shape);
}

/// Knows all sizes. Positions count through all spatial axes in row-major order.
struct Windows {
  Shape input, window, output;
  WindowSteps steps;

  /// Returns the position in the input of one element of a window, -1 for padding.
  std::int64_t input_position(std::int64_t output_position, std::int64_t window_position) const;
};

/// Calls f(output, input, window position) for every element of every window, padding left out;
/// window by window, the elements of one in row-major order.
template <class F>
void for_each_tap(const Windows& windows, F&& f) {
  const std::int64_t outputs = numel(windows.output), elements = numel(windows.window);
  for (std::int64_t output = 0; output < outputs; ++output) {
    for (std::int64_t element = 0; element < elements; ++element) {
      const std::int64_t input = windows.input_position(output, element);
      if (input >= 0) {
        f(output, input, element);
      }
    }
  }
}

}  // namespace antichain
