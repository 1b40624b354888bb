// Moving elements between two memory layouts, on all threads: planned once, run many times.
#pragma once

#include <cstddef>
#include <vector>

#include "antichain/ops/shape/layout.h"

namespace antichain::cpu {

/// An axis of a copy; strides are in bytes.
struct CopyAxis {
  std::int64_t size = 1, to = 0, from = 0;
};

/// Copies a two-dimensional block.
using CopyBlock = void (*)(std::byte* to, const std::byte* from, const CopyAxis& row,
                           const CopyAxis& run);

/// Copies elements of 1, 2, 4 or 8 bytes from one layout to another of the same shape. The source
/// may repeat elements, the target must not; the two must not overlap.
class CopyPlan {
 public:
  CopyPlan(const Layout& to, const Layout& from, std::size_t element_bytes);

  /// Copies between memories that begin where the offsets of the two layouts count from.
  void run(void* to, const void* from) const;

 private:
  // The loops around the blocks, outermost first, and the axes of a block: `run_` is the one that
  // the target has packed, if any.
  std::vector<CopyAxis> outer_;
  CopyAxis row_, run_;
  CopyBlock copy_block_ = nullptr;
  std::int64_t row_piece_ = 1, run_piece_ = 1;  // elements of a block
  std::int64_t blocks_ = 0, blocks_per_task_ = 1;
  std::int64_t to_offset_ = 0, from_offset_ = 0;  // in bytes
};

}  // namespace antichain::cpu
