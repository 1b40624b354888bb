#include "antichain/backends/cuda/convolution/border_windows.h"

#include <algorithm>

namespace antichain::cuda {

std::vector<Window> border_windows(const Shape& shape, const Window& inside) {
  std::vector<Window> borders;
  // What is left to cover: as narrow as `inside` along the axes that were seen.
  Window rest{Shape(shape.size(), 0), shape};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t length = inside.lengths[axis];
    // An empty window may start anywhere.
    const std::int64_t start =
        std::clamp<std::int64_t>(inside.starts[axis], 0, shape[axis] - length);
    const std::int64_t end = start + length;
    const auto add = [&](std::int64_t from, std::int64_t to) {
      Window border = rest;
      border.starts[axis] = from;
      border.lengths[axis] = to - from;
      if (to > from) {
        borders.push_back(std::move(border));
      }
    };
    add(0, start);
    add(end, shape[axis]);
    rest.starts[axis] = start;
    rest.lengths[axis] = length;
  }
  return borders;
}

}  // namespace antichain::cuda
