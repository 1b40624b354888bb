// StridedCopies: copies between layouts, ready to be enqueued together.
//
// One kernel takes a table of parts, and every block copies some of one of them, in units as wide
// as sizes, strides and addresses allow. A part that swaps the axes whose elements lie side by side
// is a kernel of its own (tiled_copy.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/movement/copy_part.h"
#include "antichain/backends/cuda/movement/tiled_copy.h"

namespace antichain::cuda {

/// Between which memories: where offsets of layouts count from.
struct CopyEnds {
  const void* to;
  const void* from;
};

class StridedCopies {
 public:
  /// Parts whose elements have the same number of bytes, and go to different places.
  StridedCopies(const Context& device, std::vector<CopyPart> parts);
  /// Enqueues them; as many ends as parts.
  void run(std::span<const CopyEnds> ends);

 private:
  // Parts that one launch copies.
  struct Batch {
    std::vector<std::size_t> parts;
    std::size_t axes;
    Launch launch;
  };
  struct Tiled {
    std::size_t part;
    TiledCopy copy;
  };

  void run(Batch& batch, std::span<const CopyEnds> ends) const;

  std::vector<CopyPart> parts_;
  std::vector<Batch> batches_;
  std::vector<Tiled> tiled_;
};

/// Returns an unsigned type of as many bytes, in C++.
std::string_view word_type(std::size_t bytes);
/// Returns the kernel that copies parts of as many axes; `wide` where one has 2^31 elements or
/// more.
std::string copy_text(std::int64_t element_bytes, std::size_t axes, std::size_t parts, bool wide);

}  // namespace antichain::cuda
