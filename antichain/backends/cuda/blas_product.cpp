#include "antichain/backends/cuda/blas_product.h"

#include "antichain/backends/cuda/dynamic_library.h"
#include "antichain/base/error.h"

namespace antichain::cuda {

namespace {

struct Blas {
  DynamicLibrary library{ANTICHAIN_CUBLASLT_FILE};
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtCreate);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtDestroy);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtGetStatusString);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmul);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmulDescCreate);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmulDescDestroy);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmulDescSetAttribute);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmulPreferenceCreate);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmulPreferenceDestroy);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatrixLayoutCreate);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatrixLayoutDestroy);
  ANTICHAIN_LIBRARY_FUNCTION(cublasLtMatrixLayoutSetAttribute);
};

const Blas& blas() {
  static const Blas functions;
  return functions;
}

constexpr std::size_t kMostWorkspace = 32 << 20;  // what the library's vendor advises for Hopper

void check_blas(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail<DeviceError>("the GPU failed while {}: {}", doing, blas().cublasLtGetStatusString(status));
  }
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    default: return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type_of(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::f64: return CUBLAS_COMPUTE_64F;
    case DType::f32: return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    default: return CUBLAS_COMPUTE_32F;
  }
}

void set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name, const auto& value) {
  check_blas(blas().cublasLtMatmulDescSetAttribute(product, name, &value, sizeof(value)),
             "planning a product");
}

// The library's matrices lie by columns: a matrix by rows is its transpose there.
cublasLtMatrixLayout_t make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                   std::int64_t count, std::int64_t step) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(blas().cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(columns),
                                               static_cast<std::uint64_t>(rows), columns),
             "planning a product");
  const auto batch = static_cast<std::int32_t>(count);
  check_blas(blas().cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                     &batch, sizeof(batch)),
             "planning a product");
  check_blas(blas().cublasLtMatrixLayoutSetAttribute(
                 layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof(step)),
             "planning a product");
  return layout;
}

}  // namespace

BlasLibrary::BlasLibrary(Context context, bool tf32) : context_(std::move(context)), tf32_(tf32) {
  context_->use();
  check_blas(blas().cublasLtCreate(&handle_), "starting cuBLASLt");
}

BlasLibrary::~BlasLibrary() { static_cast<void>(blas().cublasLtDestroy(handle_)); }

BlasProduct::BlasProduct(std::shared_ptr<const BlasLibrary> library, const BlasSizes& s)
    : library_(std::move(library)), is_double_(s.dtype == DType::f64) {
  library_->context()->use();
  const cudaDataType_t type = type_of(s.dtype);
  check_blas(blas().cublasLtMatmulDescCreate(&product_, compute_type_of(s.dtype, library_->tf32()),
                                             is_double_ ? CUDA_R_64F : CUDA_R_32F),
             "planning a product");
  // out^T = b^T a^T: the library's first matrix is b.
  set(product_, CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(product_, CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (s.bias || s.relu) {
    set(product_, CUBLASLT_MATMUL_DESC_EPILOGUE,
        !s.relu   ? CUBLASLT_EPILOGUE_BIAS
        : !s.bias ? CUBLASLT_EPILOGUE_RELU
                  : CUBLASLT_EPILOGUE_RELU_BIAS);
  }
  if (s.bias) {  // any address: what is found must be able to read one
    alignas(256) static const std::byte kSomewhere[256] = {};
    set(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(kSomewhere));
  }
  const auto layout = [&](std::int64_t rows, std::int64_t columns, bool transposed,
                          std::int64_t step) {
    return make_layout(type, transposed ? columns : rows, transposed ? rows : columns, s.count,
                       step);
  };
  a_ = layout(s.rows, s.inner, s.transpose_a, s.a_step);
  b_ = layout(s.inner, s.columns, s.transpose_b, s.b_step);
  out_ = layout(s.rows, s.columns, false, s.rows * s.columns);
  cublasLtMatmulPreference_t preference = nullptr;
  check_blas(blas().cublasLtMatmulPreferenceCreate(&preference), "planning a product");
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  cublasStatus_t status = blas().cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kMostWorkspace,
      sizeof(kMostWorkspace));
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = blas().cublasLtMatmulAlgoGetHeuristic(library_->handle(), product_, b_, a_, out_, out_,
                                                   preference, 1, &found, &count);
  }
  static_cast<void>(blas().cublasLtMatmulPreferenceDestroy(preference));
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
    check_blas(status, "planning a product");
    is_possible_ = count == 1;
  }
  algorithm_ = found.algo;
  workspace_ = DeviceContext::allocate(library_->context(), found.workspaceSize);
}

BlasProduct::~BlasProduct() {
  for (cublasLtMatrixLayout_t layout : {a_, b_, out_}) {
    static_cast<void>(blas().cublasLtMatrixLayoutDestroy(layout));
  }
  static_cast<void>(blas().cublasLtMatmulDescDestroy(product_));
}

void BlasProduct::run(const void* a, const void* b, void* out, const void* bias) const {
  constexpr double kOne = 1, kZero = 0;
  constexpr float kOneFloat = 1, kZeroFloat = 0;
  const void* const alpha = is_double_ ? static_cast<const void*>(&kOne) : &kOneFloat;
  const void* const beta = is_double_ ? static_cast<const void*>(&kZero) : &kZeroFloat;
  library_->context()->use();
  if (bias != nullptr) {
    set(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  check_blas(blas().cublasLtMatmul(library_->handle(), product_, alpha, b, b_, a, a_, beta, out,
                                   out_, out, out_, &algorithm_, workspace_->data(),
                                   workspace_->bytes(), library_->context()->stream()),
             "multiplying matrices");
}

}  // namespace antichain::cuda
