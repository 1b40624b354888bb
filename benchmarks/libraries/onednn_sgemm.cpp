// oneDNN's BLAS-like function.
#include "onednn.h"

namespace libraries {

std::string title() { return "oneDNN " + onednn_version() + " sgemm"; }
void set_threads(int threads) { omp_set_num_threads(threads); }

std::function<void()> prepare(const Product& product, const float* a, const float* b, float* out) {
  const bool ta = product.transpose_a, tb = product.transpose_b;
  return [=] {
    dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', product.rows, product.columns, product.inner, 1, a,
               ta ? product.rows : product.inner, b, tb ? product.inner : product.columns, 0, out,
               product.columns);
  };
}

}  // namespace libraries
