// An operand of a matmul as libraries want it: rows or columns packed, in the type that they
// multiply. What is not like that is copied first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "antichain/backends/cpu/products/matmul_plan.h"
#include "antichain/tensor/tensor.h"

namespace antichain::cpu {

class MatmulOperand {
 public:
  /// Decides how to read a tensor of this shape and these strides; it may have no memory yet.
  MatmulOperand(const Tensor& tensor, bool transposed, DType dtype);

  /// Returns the first element, after copying where that is needed.
  const std::byte* read(const Tensor& tensor) const;

  std::int64_t rows, columns;  // after transposing
  MatrixStrides strides;
  Shape batch;  // the leading axes
  Strides batch_strides;

 private:
  bool must_pack_ = false;
  Tensor packed_, converted_;  // own memory, where the operand cannot be read in place
};

}  // namespace antichain::cpu
