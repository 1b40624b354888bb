// oneDNN's matmul primitive, on operands as they are.
#include "onednn.h"

namespace libraries {

std::string title() { return "oneDNN " + onednn_version() + " matmul"; }
void set_threads(int threads) { omp_set_num_threads(threads); }

std::function<void()> prepare(const Product& product, const float* a, const float* b, float* out) {
  using Dims = dnnl::memory::dims;
  const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return dnnl::memory::desc({rows, columns}, dnnl::memory::data_type::f32,
                              transposed ? Dims{1, rows} : Dims{columns, 1});
  };
  const auto left = matrix(product.rows, product.inner, product.transpose_a);
  const auto right = matrix(product.inner, product.columns, product.transpose_b);
  const auto result = matrix(product.rows, product.columns, false);
  const dnnl::matmul primitive(describe<dnnl::matmul>(left, right, result));
  const dnnl::memory left_memory(left, engine(), const_cast<float*>(a));
  const dnnl::memory right_memory(right, engine(), const_cast<float*>(b));
  const dnnl::memory result_memory(result, engine(), out);
  return [=] {
    primitive.execute(stream(), {{DNNL_ARG_SRC, left_memory},
                                 {DNNL_ARG_WEIGHTS, right_memory},
                                 {DNNL_ARG_DST, result_memory}});
  };
}

}  // namespace libraries
