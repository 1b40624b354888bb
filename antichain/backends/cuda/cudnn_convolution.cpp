#include "antichain/backends/cuda/cudnn_convolution.h"

#include <algorithm>

#include "antichain/base/error.h"

namespace antichain::cuda {

namespace {

// Names of the three tensors in plans.
enum Name : std::int64_t { kX = 1, kWeight = 2, kOutput = 3 };
constexpr std::int64_t kMostPlans = 16;  // that are tried
constexpr std::int64_t kAlignment = 16;  // bytes

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDNN_DATA_DOUBLE;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    case DType::f16: return CUDNN_DATA_HALF;
    default: return CUDNN_DATA_FLOAT;
  }
}

CudnnDescriptor describe(const ConvTensor& tensor, DType dtype, Name name) {
  CudnnDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(dtype));
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.sizes);
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::int64_t{name});
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  descriptor.finish();
  return descriptor;
}

CudnnDescriptor describe_windows(const ConvProblem& problem) {
  CudnnDescriptor windows(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnDataType_t compute = problem.dtype == f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  windows.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, compute);
  windows.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              CUDNN_CROSS_CORRELATION);
  windows.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
              static_cast<std::int64_t>(problem.stride.size()));
  windows.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, problem.dilation);
  windows.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, problem.stride);
  windows.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, problem.padding);
  windows.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, problem.padding);
  windows.finish();
  return windows;
}

// What the attributes of the three operations are called.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, weight, output, windows, alpha, beta;
};
OperationNames names_of(ConvResult result) {
  switch (result) {
    case ConvResult::output:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvResult::x:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvResult::weight: break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

// Whether a way to compute has the same bits in every run and, for f32, 24 of them: by tensor cores
// it has those of tf32.
bool is_exact(const CudnnDescriptor& config, DType dtype, bool tf32) {
  const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.handle();
  std::int64_t count = 0;
  check(cudnn().cudnnBackendGetAttribute(config.handle(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
        "planning a convolution");
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  check(cudnn().cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                         CUDNN_TYPE_NUMERICAL_NOTE, std::ssize(notes), &count,
                                         notes.data()),
        "planning a convolution");
  notes.resize(static_cast<std::size_t>(count));
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::ranges::count(notes, note) > 0;
  };
  const bool narrow = (has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) && !tf32) ||
                      has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  return !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
         !has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) && !has(CUDNN_NUMERICAL_NOTE_FFT) &&
         !(dtype == f32 && narrow);
}

// The ways that the library advises, best first.
std::vector<CudnnDescriptor> advised(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  CudnnDescriptor advice(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  advice.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  advice.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!advice.try_finish()) {
    return {};
  }
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < kMostPlans; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(configs.back().handle());
  }
  std::int64_t count = 0;
  check(cudnn().cudnnBackendGetAttribute(advice.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostPlans, &count,
                                         handles.data()),
        "planning a convolution");
  while (std::ssize(configs) > count) {
    configs.pop_back();
  }
  return configs;
}

}  // namespace

CudnnLibrary::CudnnLibrary(Context context, bool tf32) : context_(std::move(context)), tf32_(tf32) {
  context_->use();
  check(cudnn().cudnnCreate(&handle_), "starting cuDNN");
  check(cudnn().cudnnSetStream(handle_, context_->stream()), "starting cuDNN");
}

CudnnLibrary::~CudnnLibrary() { static_cast<void>(cudnn().cudnnDestroy(handle_)); }

CudnnConvolution::CudnnConvolution(std::shared_ptr<const CudnnLibrary> library,
                                   const ConvProblem& problem)
    : library_(std::move(library)) {
  library_->context()->use();
  const CudnnDescriptor x = describe(problem.x, problem.dtype, kX);
  const CudnnDescriptor weight = describe(problem.weight, problem.dtype, kWeight);
  const CudnnDescriptor output = describe(problem.output, problem.dtype, kOutput);
  const CudnnDescriptor windows = describe_windows(problem);
  const OperationNames names = names_of(problem.result);
  CudnnDescriptor operation(names.type);
  operation.set(names.x, x);
  operation.set(names.weight, weight);
  operation.set(names.output, output);
  operation.set(names.windows, windows);
  if (problem.dtype == f64) {
    operation.set(names.alpha, CUDNN_TYPE_DOUBLE, 1.0);
    operation.set(names.beta, CUDNN_TYPE_DOUBLE, 0.0);
  } else {
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  }
  operation.finish();
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, library_->handle());
  graph.finish();
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const CudnnDescriptor& config : advised(graph, mode)) {
      auto plan = std::make_unique<CudnnDescriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, library_->handle());
      plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (is_exact(config, problem.dtype, library_->tf32()) && plan->try_finish()) {
        plan_ = std::move(plan);
        break;
      }
    }
    if (plan_) {
      break;
    }
  }
  require<DeviceError>(plan_ != nullptr,
                       "cuDNN has no deterministic way to compute a convolution "
                       "of this size");
  std::int64_t bytes = 0, count = 0;
  check(cudnn().cudnnBackendGetAttribute(plan_->handle(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                         CUDNN_TYPE_INT64, 1, &count, &bytes),
        "planning a convolution");
  workspace_ = DeviceContext::allocate(library_->context(), static_cast<std::size_t>(bytes));
}

void CudnnConvolution::run(const void* x, const void* weight, const void* output) const {
  library_->context()->use();
  const void* const tensors[] = {x, weight, output};
  const std::int64_t names[] = {kX, kWeight, kOutput};
  void* const workspace = workspace_->data();
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names);
  check(cudnn().cudnnBackendSetAttribute(pack.handle(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                         CUDNN_TYPE_VOID_PTR, 3, tensors),
        "convolving");
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finish();
  check(cudnn().cudnnBackendExecute(library_->handle(), plan_->handle(), pack.handle()),
        "convolving");
}

}  // namespace antichain::cuda
