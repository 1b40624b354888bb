// One matrix product by the BLAS library. Only for builds that have one.
#pragma once

#include "antichain/backends/cpu/products/matmul_plan.h"

namespace antichain::cpu {

/// Makes the library compute in the calling thread only: this backend cuts the work itself. It is a
/// setting of the whole process.
void use_one_blas_thread();

class BlasGemm {
 public:
  /// Throws NotSupported when a size does not fit BLAS's own integers. `accumulate` adds to what is
  /// there instead of overwriting it.
  explicit BlasGemm(const ProductSizes& sizes, bool accumulate = false);

  void operator()(const float* a, const float* b, float* out) const;
  void operator()(const double* a, const double* b, double* out) const;

 private:
  bool transpose_a_, transpose_b_;
  int rows_, columns_, inner_, row_a_, row_b_, row_out_;
  double keep_;  // what is there is multiplied by this before the product is added
};

}  // namespace antichain::cpu
