#include "antichain/backends/cpu/blas_matmul.h"

#include "antichain/ops/matmul.h"

#ifdef ANTICHAIN_HAS_BLAS
#include <cblas.h>

#include <limits>
#endif

namespace antichain::cpu {

#ifdef ANTICHAIN_HAS_BLAS

namespace {

// One matrix product; sizes and leading dimensions are BLAS's own int.
struct Gemm {
  CBLAS_TRANSPOSE a, b;
  int rows, columns, inner, stride_a, stride_b;

  void operator()(const float* left, const float* right, float* out) const {
    cblas_sgemm(CblasRowMajor, a, b, rows, columns, inner, 1, left, stride_a, right, stride_b, 0,
                out, columns);
  }
  void operator()(const double* left, const double* right, double* out) const {
    cblas_dgemm(CblasRowMajor, a, b, rows, columns, inner, 1, left, stride_a, right, stride_b, 0,
                out, columns);
  }
};

int blas_size(std::int64_t size) {
  require<NotSupported>(size <= std::numeric_limits<int>::max(),
                        "matmul: size {} is too large for BLAS", size);
  return static_cast<int>(size);
}

Support supports(Op op) {
  const DType dtype = op.output().dtype();
  return dtype == f32 || dtype == f64
             ? Support{}
             : Support::no("BLAS multiplies f32 and f64, not " + std::string(name(dtype)));
}

template <class T>
void run_as(KernelContext& context) {
  const bool ta = context.attr<bool>("transpose_a"), tb = context.attr<bool>("transpose_b");
  const Tensor& out = context.out();
  const std::int64_t rows = out.shape().end()[-2], columns = out.shape().end()[-1];
  const std::int64_t inner = context.in(0).shape().end()[ta ? -2 : -1];
  if (out.numel() == 0) {
    return;
  }
  if (inner == 0) {
    std::fill_n(out.data<T>(), out.numel(), T(0));
    return;
  }
  const Gemm gemm{.a = ta ? CblasTrans : CblasNoTrans,
                  .b = tb ? CblasTrans : CblasNoTrans,
                  .rows = blas_size(rows),
                  .columns = blas_size(columns),
                  .inner = blas_size(inner),
                  .stride_a = blas_size(ta ? rows : inner),
                  .stride_b = blas_size(tb ? inner : columns)};
  // Leading axes are walked as views, so a broadcast operand is not copied.
  const Shape batch(out.shape().begin(), out.shape().end() - 2);
  const auto matrices = [&batch](const Tensor& tensor) {
    Shape shape = batch;
    shape.insert(shape.end(), tensor.shape().end() - 2, tensor.shape().end());
    return tensor.broadcast_to(shape);
  };
  const Tensor left = matrices(context.in(0)), right = matrices(context.in(1));
  Shape position(batch.size(), 0);
  T* target = out.data<T>();
  for (std::int64_t n = 0, count = numel(batch); n < count; ++n) {
    std::int64_t offset_left = 0, offset_right = 0;
    for (std::size_t axis = 0; axis < batch.size(); ++axis) {
      offset_left += position[axis] * left.strides()[axis];
      offset_right += position[axis] * right.strides()[axis];
    }
    gemm(left.data<T>() + offset_left, right.data<T>() + offset_right, target + n * rows * columns);
    for (std::size_t axis = batch.size(); axis-- > 0;) {
      if (++position[axis] < batch[axis]) {
        break;
      }
      position[axis] = 0;
    }
  }
}

void run(KernelContext& context) {
  if (context.out().dtype() == f32) {
    run_as<float>(context);
  } else {
    run_as<double>(context);
  }
}

}  // namespace

void register_blas_matmul(KernelTable& kernels) {
  kernels.add(matmul_def(), {"blas gemm", supports, run});
}

#else

void register_blas_matmul(KernelTable& kernels) {
  kernels.add(matmul_def(),
              {"blas gemm", [](Op) { return Support::no("this build has no BLAS library"); }});
}

#endif

}  // namespace antichain::cpu
