#include <libxsmm.h>
#include <omp.h>

#include "library.h"

namespace libraries {

std::string title() { return std::string("LIBXSMM ") + LIBXSMM_VERSION; }

void set_threads(int threads) { omp_set_num_threads(threads); }

// It generates code for plain operands only; others it would hand to a BLAS.
std::function<void()> prepare(const Product& product, const float* a, const float* b, float* out) {
  if (product.transpose_a || product.transpose_b) {
    return nullptr;
  }
  const auto rows = static_cast<libxsmm_blasint>(product.rows);
  const auto columns = static_cast<libxsmm_blasint>(product.columns);
  const auto inner = static_cast<libxsmm_blasint>(product.inner);
  // It takes columns first, so the transposed product is computed: out^T = b^T a^T.
  return [=] {
    const float one = 1, zero = 0;
    const char plain = 'N';
    libxsmm_sgemm_omp(&plain, &plain, &columns, &rows, &inner, &one, b, &columns, a, &inner, &zero,
                      out, &columns);
  };
}

}  // namespace libraries
