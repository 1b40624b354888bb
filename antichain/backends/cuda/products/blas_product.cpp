#include "antichain/backends/cuda/products/blas_product.h"

#include <algorithm>

#include "antichain/backends/cuda/core/dynamic_library.h"
#include "antichain/backends/cuda/elementwise/element_runs.h"
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

// Bytes: what the library's vendor advises for Hopper.
constexpr std::size_t kMostBlasWorkspace = 32 << 20;

void check_blas(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail<DeviceError>("the GPU failed while {}: {}", doing, blas().cublasLtGetStatusString(status));
  }
}

cudaDataType_t cuda_type(DType dtype) {
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
BlasHandle<cublasLtMatrixLayout_t> make_layout(cudaDataType_t type, std::int64_t rows,
                                               std::int64_t columns, std::int64_t count,
                                               std::int64_t step) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(blas().cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(columns),
                                               static_cast<std::uint64_t>(rows), columns),
             "planning a product");
  BlasHandle<cublasLtMatrixLayout_t> owned(layout);
  const auto batch = static_cast<std::int32_t>(count);
  check_blas(blas().cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                     &batch, sizeof(batch)),
             "planning a product");
  check_blas(blas().cublasLtMatrixLayoutSetAttribute(
                 layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof(step)),
             "planning a product");
  return owned;
}

}  // namespace

void BlasDestroy::operator()(cublasLtMatmulDescOpaque_t* product) const {
  static_cast<void>(blas().cublasLtMatmulDescDestroy(product));
}
void BlasDestroy::operator()(cublasLtMatrixLayoutOpaque_t* layout) const {
  static_cast<void>(blas().cublasLtMatrixLayoutDestroy(layout));
}
void BlasDestroy::operator()(cublasLtMatmulPreferenceOpaque_t* preference) const {
  static_cast<void>(blas().cublasLtMatmulPreferenceDestroy(preference));
}

BlasLibrary::BlasLibrary(Context context, bool tf32) : context_(std::move(context)), tf32_(tf32) {
  context_->use();
  const Preparation::Timer timer(context_->preparation(), "starting cuBLASLt");
  check_blas(blas().cublasLtCreate(&handle_), "starting cuBLASLt");
}

BlasLibrary::~BlasLibrary() { static_cast<void>(blas().cublasLtDestroy(handle_)); }

BlasProduct::BlasProduct(std::shared_ptr<const BlasLibrary> library, const BlasSizes& s)
    : library_(std::move(library)), is_double_(s.dtype == DType::f64), has_bias_(s.bias) {
  library_->context()->use();
  const Preparation::Timer timer(library_->context()->preparation(), "planning products");
  const cudaDataType_t type = cuda_type(s.dtype);
  cublasLtMatmulDesc_t product = nullptr;
  check_blas(blas().cublasLtMatmulDescCreate(&product, compute_type_of(s.dtype, library_->tf32()),
                                             is_double_ ? CUDA_R_64F : CUDA_R_32F),
             "planning a product");
  product_.reset(product);
  // out^T = b^T a^T: the library's first matrix is b.
  set(product, CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(product, CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (s.bias || s.relu) {
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE,
        !s.relu   ? CUBLASLT_EPILOGUE_BIAS
        : !s.bias ? CUBLASLT_EPILOGUE_RELU
                  : CUBLASLT_EPILOGUE_RELU_BIAS);
  }
  const auto layout = [&](std::int64_t rows, std::int64_t columns, bool transposed,
                          std::int64_t step) {
    return make_layout(type, transposed ? columns : rows, transposed ? rows : columns, s.count,
                       step);
  };
  a_ = layout(s.rows, s.inner, s.transpose_a, s.a_step);
  b_ = layout(s.inner, s.columns, s.transpose_b, s.b_step);
  out_ = layout(s.rows, s.columns, false, s.rows * s.columns);
  aligned_ = find_algorithm(kRunBytes);  // as addresses are, unless they are those of views
  unaligned_ = find_algorithm(static_cast<std::uint32_t>(size_of(s.dtype)));
  // Whoever asks for more than a product has another way if the library cannot do it.
  is_possible_ = aligned_ && (!(s.bias || s.relu) || unaligned_);
  workspace_ = DeviceContext::allocate(library_->context(), workspace_bytes_);
}

BlasProduct::Algorithm BlasProduct::find_algorithm(std::uint32_t alignment) {
  if (has_bias_) {  // any address that is no multiple of more
    alignas(256) static const std::byte kSomewhere[256] = {};
    set(product_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        static_cast<const void*>(kSomewhere + alignment));
  }
  cublasLtMatmulPreference_t made = nullptr;
  check_blas(blas().cublasLtMatmulPreferenceCreate(&made), "planning a product");
  const BlasHandle<cublasLtMatmulPreference_t> preference(made);
  const auto prefer = [made](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
    check_blas(blas().cublasLtMatmulPreferenceSetAttribute(made, name, &value, sizeof(value)),
               "planning a product");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostBlasWorkspace);
  for (const auto operand :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(operand, alignment);
  }
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  const cublasStatus_t status =
      blas().cublasLtMatmulAlgoGetHeuristic(library_->handle(), product_.get(), b_.get(), a_.get(),
                                            out_.get(), out_.get(), made, 1, &found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
    return std::nullopt;
  }
  check_blas(status, "planning a product");
  if (count == 0) {
    return std::nullopt;
  }
  workspace_bytes_ = std::max(workspace_bytes_, found.workspaceSize);
  return found.algo;
}

void BlasProduct::run(const void* a, const void* b, void* out, const void* bias) const {
  constexpr double kOne = 1, kZero = 0;
  constexpr float kOneFloat = 1, kZeroFloat = 0;
  const void* const alpha = is_double_ ? static_cast<const void*>(&kOne) : &kOneFloat;
  const void* const beta = is_double_ ? static_cast<const void*>(&kZero) : &kZeroFloat;
  library_->context()->use();
  const Algorithm& algorithm =
      is_aligned(a) && is_aligned(b) && is_aligned(out) && is_aligned(bias) ? aligned_ : unaligned_;
  require<NotSupported>(algorithm.has_value(),
                        "cuBLASLt has no product of this size for views that begin anywhere");
  if (bias != nullptr) {
    set(product_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  check_blas(
      blas().cublasLtMatmul(library_->handle(), product_.get(), alpha, b, b_.get(), a, a_.get(),
                            beta, out, out_.get(), out, out_.get(), &*algorithm, workspace_->data(),
                            workspace_->bytes(), library_->context()->stream()),
      "multiplying matrices");
}

}  // namespace antichain::cuda
