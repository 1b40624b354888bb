// StridedCopy: a copy between two layouts, ready to be enqueued.
#pragma once

#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/strided_loop.h"
#include "antichain/ops/layout.h"

namespace antichain::cuda {

class StridedCopy {
 public:
  /// Both layouts have one shape; elements have 1, 2, 4 or 8 bytes.
  StridedCopy(const Context& device, const Layout& to, const Layout& from,
              std::size_t element_bytes);
  /// Enqueues it, between memories that begin where the offsets of the layouts count from.
  void run(void* to, const void* from);

 private:
  Launch launch_;
  std::size_t first_slot_;              // of the addresses
  std::int64_t to_bytes_, from_bytes_;  // of the first elements
};

/// Returns an unsigned type of as many bytes, in C++.
std::string_view word_type(std::size_t bytes);
/// Returns the kernel that copies between the two operands of a loop.
std::string strided_copy_text(const StridedLoop& loop, std::size_t element_bytes);

}  // namespace antichain::cuda
