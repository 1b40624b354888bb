// TiledCopy: a copy that swaps axes, through shared memory, so that both sides are walked along
// what lies side by side.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/movement/copy_part.h"

namespace antichain::cuda {

/// Returns whether the elements of a part lie side by side along different axes on its two sides,
/// both long enough for tiles.
bool swaps_axes(const CopyPart& part);

class TiledCopy {
 public:
  /// For a part that swaps axes.
  TiledCopy(const Context& device, const CopyPart& part);
  /// Enqueues it, between first elements.
  void run(const void* to, const void* from);

 private:
  Launch launch_;
};

/// Returns the kernel for as many axes beside the two of the tiles.
std::string tiled_copy_text(std::int64_t element_bytes, std::size_t outer_axes);

}  // namespace antichain::cuda
