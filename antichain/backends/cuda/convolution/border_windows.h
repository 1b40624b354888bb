// What lies around a window of a value.
#pragma once

#include <vector>

#include "antichain/tensor/shape.h"

namespace antichain::cuda {

/// Holds lengths[i] positions of axis i from starts[i] on.
struct Window {
  Shape starts, lengths;
};

/// Returns windows without common elements that hold all of a value but what `inside` does; two for
/// every axis that it does not fill, at most.
std::vector<Window> border_windows(const Shape& shape, const Window& inside);

}  // namespace antichain::cuda
