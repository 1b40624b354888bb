// ColumnConvolution: a convolution of f32 or f64 values as products of matrices.
//
// What each window sees becomes a column ("im2col"); the output is then one product with the
// weights per sample, the gradient of x such a product whose columns are added up where windows
// overlap, and that of the weights a product over all positions of some samples, of which there are
// enough to keep a GPU busy, and a sum of these. All of it has the same bits in every run, which
// cuDNN's fast ways for f32 do not; its deterministic ones take up to twenty times as long.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "antichain/backends/cuda/convolution/convolution_way.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/products/blas_product.h"

namespace antichain::cuda {

class ColumnConvolution final : public ConvolutionWay {
 public:
  /// Returns nothing for problems that it does not fit: several groups, 16 bits, tensors in another
  /// order than [n, c, spatial...], 2^31 elements or more.
  static std::unique_ptr<ColumnConvolution> of(const std::shared_ptr<const BlasLibrary>& library,
                                               const ConvProblem& problem);

  std::int64_t workspace() const override;
  void run(const ConvOperands& operands, void* workspace) override;

 private:
  struct Sizes;
  ColumnConvolution(const std::shared_ptr<const BlasLibrary>& library, const ConvProblem& problem,
                    const Sizes& sizes);

  ConvResult result_;
  // How many bytes of the workspace each has: columns of x or of its gradient, the output's
  // gradient with the samples of a part side by side, and the parts of the weights' gradient.
  // Without any, the columns are x itself, and so on.
  std::int64_t columns_ = 0, moved_ = 0, parts_ = 0;
  std::optional<Launch> unfold_, move_, fold_, sum_;
  std::unique_ptr<BlasProduct> product_;
};

/// Returns the kernels.
std::string columns_text(DType dtype);

}  // namespace antichain::cuda
