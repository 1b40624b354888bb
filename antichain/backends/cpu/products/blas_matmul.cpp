#include "antichain/backends/cpu/products/blas_matmul.h"

#include "antichain/ops/products/matmul.h"

#ifdef ANTICHAIN_HAS_BLAS
#include "antichain/backends/cpu/products/blas_gemm.h"
#include "antichain/backends/cpu/products/matmul_plan.h"
#endif

namespace antichain::cpu {

#ifdef ANTICHAIN_HAS_BLAS

namespace {

Support supports_blas_matmul(Op op) {
  const DType dtype = op.input(0).dtype();
  return is_float(dtype) ? Support{}
                         : Support::no("BLAS multiplies floats, not " + std::string(name(dtype)));
}

template <class T>
Product make_blas_product(const ProductSizes& sizes) {
  const BlasGemm gemm(sizes);
  return [gemm](const void* a, const void* b, void* out) {
    gemm(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out));
  };
}

// Sixteen-bit floats are multiplied as f32.
ProductPlan plan_blas_matmul(const KernelContext& context, Destination to) {
  return context.in(0).dtype() == f64 ? plan_matmul(context, f64, make_blas_product<double>, to)
                                      : plan_matmul(context, f32, make_blas_product<float>, to);
}

}  // namespace

void add_blas_matmul(std::vector<ProductKernel>& products) {
  use_one_blas_thread();
  products.push_back({.name = "blas gemm",
                      .def = &matmul_def(),
                      .supports = supports_blas_matmul,
                      .plan = plan_blas_matmul,
                      .strided_inputs = true});
}

#else

void add_blas_matmul(std::vector<ProductKernel>& products) {
  products.push_back({.name = "blas gemm", .def = &matmul_def(), .supports = [](Op) {
                        return Support::no("this build has no BLAS library");
                      }});
}

#endif

}  // namespace antichain::cpu
