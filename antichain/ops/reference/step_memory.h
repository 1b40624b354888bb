// Where the steps of a chain read and write: views that move along with the steps.
#pragma once

#include <cstddef>
#include <vector>

#include "antichain/tensor/tensor_memory.h"

namespace antichain {

/// Points `view` at a position along the first axis of `stacked`, without allocating if it had that
/// shape before.
void select_step(Tensor& view, const Tensor& stacked, std::int64_t position);

/// The number of the present step, where a body can read it.
class StepNumber {
 public:
  /// Sets it to one of [0, length).
  void set(std::int64_t step, std::int64_t length, const TensorMemory& device);
  const Tensor* tensor() const { return &now_; }

 private:
  Tensor now_;
  // All numbers, where the host cannot write: steps then wait for no copy from there.
  Tensor all_;
};

/// Hands out pieces of an op's workspace, one behind the other.
class Pieces {
 public:
  explicit Pieces(const Tensor& workspace) : workspace_(workspace) {}
  /// Returns the bytes of a piece that takes such a value.
  static std::size_t bytes_for(const Tensor& value) { return aligned(value.bytes()); }
  /// Points `view` at the next piece, in the layout of `value`.
  void place(Tensor& view, const Tensor& value);

 private:
  const Tensor& workspace_;
  std::size_t used_ = 0;
};

/// Lets go of the memory of views: whoever holds memory keeps others from writing there.
void drop_memory(std::vector<Tensor>& views);

}  // namespace antichain
