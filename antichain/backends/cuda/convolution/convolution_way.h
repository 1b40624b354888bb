// A convolution or one of its gradients at certain sizes, and a way to compute it.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/tensor/dtype.h"

namespace antichain::cuda {

/// Says which of the three is computed from the other two.
enum class ConvResult { output, x, weight };

/// Sizes [n, c, spatial...] and where elements lie, whatever the order of the axes in memory.
struct ConvTensor {
  std::vector<std::int64_t> sizes, strides;
};

struct ConvProblem {
  ConvResult result;
  DType dtype;
  ConvTensor x, weight, output;
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t alignment;  // bytes, of the addresses of all three
};

/// The memory of the three tensors.
struct ConvOperands {
  const void *x, *weight, *output;
};

class ConvolutionWay {
 public:
  ConvolutionWay() = default;
  virtual ~ConvolutionWay() = default;
  ConvolutionWay(const ConvolutionWay&) = delete;
  ConvolutionWay& operator=(const ConvolutionWay&) = delete;

  /// Returns how many bytes it works in.
  virtual std::int64_t workspace() const = 0;
  /// Enqueues it.
  virtual void run(const ConvOperands& operands, void* workspace) = 0;
};

}  // namespace antichain::cuda
