#include "antichain/backends/cpu/products/blas_gemm.h"

#include <cblas.h>

#include <limits>

#include "antichain/base/error.h"

namespace antichain::cpu {

namespace {

int blas_size(std::int64_t size) {
  require<NotSupported>(size <= std::numeric_limits<int>::max(),
                        "matmul: size {} is too large for BLAS", size);
  return static_cast<int>(size);
}

CBLAS_TRANSPOSE flag(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

bool has_packed_rows(MatrixStrides strides, std::int64_t columns) {
  return strides.column == 1 && strides.row >= columns;
}

}  // namespace

void use_one_blas_thread() {
#ifdef ANTICHAIN_BLAS_IS_OPENBLAS
  openblas_set_num_threads(1);
#endif
}

BlasGemm::BlasGemm(const ProductSizes& sizes, bool accumulate)
    : transpose_a_(!has_packed_rows(sizes.a, sizes.inner)),
      transpose_b_(!has_packed_rows(sizes.b, sizes.columns)),
      rows_(blas_size(sizes.rows)),
      columns_(blas_size(sizes.columns)),
      inner_(blas_size(sizes.inner)),
      row_a_(blas_size(transpose_a_ ? sizes.a.column : sizes.a.row)),
      row_b_(blas_size(transpose_b_ ? sizes.b.column : sizes.b.row)),
      row_out_(blas_size(sizes.out_row)),
      keep_(accumulate ? 1 : 0) {}

void BlasGemm::operator()(const float* a, const float* b, float* out) const {
  cblas_sgemm(CblasRowMajor, flag(transpose_a_), flag(transpose_b_), rows_, columns_, inner_, 1, a,
              row_a_, b, row_b_, static_cast<float>(keep_), out, row_out_);
}

void BlasGemm::operator()(const double* a, const double* b, double* out) const {
  cblas_dgemm(CblasRowMajor, flag(transpose_a_), flag(transpose_b_), rows_, columns_, inner_, 1, a,
              row_a_, b, row_b_, keep_, out, row_out_);
}

}  // namespace antichain::cpu
