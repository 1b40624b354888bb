// OpenBLAS or BLIS: one C interface, two ways to set threads.
#include <cblas.h>

#include "library.h"
#ifdef USE_BLIS
#include <blis.h>
#endif

namespace libraries {

#ifdef USE_BLIS
std::string title() { return std::string("BLIS ") + bli_info_get_version_str(); }
void set_threads(int threads) { bli_thread_set_num_threads(threads); }
#else
std::string title() {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  return config.substr(0, config.find(' ', config.find(' ') + 1));
}
void set_threads(int threads) { openblas_set_num_threads(threads); }
#endif

std::function<void()> prepare(const Product& product, const float* a, const float* b, float* out) {
  const int rows = static_cast<int>(product.rows), columns = static_cast<int>(product.columns);
  const int inner = static_cast<int>(product.inner);
  const bool ta = product.transpose_a, tb = product.transpose_b;
  return [=] {
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, rows,
                columns, inner, 1, a, ta ? rows : inner, b, tb ? inner : columns, 0, out, columns);
  };
}

}  // namespace libraries
