#include "antichain/ops/reference/sliding_windows.h"

#include <algorithm>
#include <string_view>

namespace antichain {

WindowSteps WindowSteps::of(const Attrs& attrs) {
  const Ints& stride = attrs.get<Ints>("stride");
  const bool dilated = attrs.find("dilation") != nullptr;
  return {stride, attrs.get<Ints>("padding"),
          dilated ? attrs.get<Ints>("dilation") : Ints(stride.size(), 1)};
}

void require_steps(const InferContext& context, const WindowSteps& steps,
                   std::size_t spatial_rank) {
  const auto check = [&](std::string_view what, const Ints& values, std::int64_t least) {
    require<ShapeError>(values.size() == spatial_rank,
                        "{}: {} {} must have one number per spatial axis, {} in all",
                        context.op_name(), what, to_string(values), spatial_rank);
    require<ShapeError>(std::ranges::all_of(values, [&](auto value) { return value >= least; }),
                        "{}: {} must be {} or more, got {}", context.op_name(), what, least,
                        to_string(values));
  };
  check("stride", steps.stride, 1);
  check("padding", steps.padding, 0);
  check("dilation", steps.dilation, 1);
}

Dims count_windows(InferContext& context, const Dims& input, const Dims& window,
                   const WindowSteps& steps) {
  require_steps(context, steps, input.size());
  Dims counts;
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    const Dim size = window[axis];
    require<ShapeError>(size.range().max >= 1, "{}: a window must have 1 element or more, got {}",
                        context.op_name(), to_string(window));
    context.unify(max(size, 1), size, "an empty window and its smallest size");
    const Dim span = Dim(steps.dilation[axis]) * (size - 1) + 1;
    const Dim padded = input[axis] + 2 * steps.padding[axis];
    require<ShapeError>((padded - span).range().max >= 0,
                        "{}: a window that spans {} elements does not fit into spatial axis {}, "
                        "which has {} with its padding",
                        context.op_name(), span.str(), axis, padded.str());
    context.unify(max(padded, span), padded, "the span of a window and the padded input");
    counts.push_back((padded - span) / steps.stride[axis] + 1);
  }
  return counts;
}

std::int64_t Windows::input_position(std::int64_t output_position,
                                     std::int64_t window_position) const {
  std::int64_t position = 0, scale = 1;
  for (std::size_t axis = input.size(); axis-- > 0;) {
    const std::int64_t coordinate = output_position % output[axis] * steps.stride[axis] +
                                    window_position % window[axis] * steps.dilation[axis] -
                                    steps.padding[axis];
    if (coordinate < 0 || coordinate >= input[axis]) {
      return -1;
    }
    position += coordinate * scale;
    scale *= input[axis];
    output_position /= output[axis];
    window_position /= window[axis];
  }
  return position;
}

}  // namespace antichain
