#include "antichain/backends/cuda/convolution/cudnn_plans.h"

#include <algorithm>
#include <optional>

#include "antichain/base/error.h"

namespace antichain::cuda {

namespace {

// Names of the three tensors in plans.
struct TensorName {
  enum : std::int64_t { kX = 1, kWeight = 2, kOutput = 3 };
};
constexpr std::int64_t kMostAdvice = 16;  // of each kind

cudnnDataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDNN_DATA_DOUBLE;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    case DType::f16: return CUDNN_DATA_HALF;
    default: return CUDNN_DATA_FLOAT;
  }
}

CudnnDescriptor tensor_descriptor(const ConvTensor& tensor, const ConvProblem& problem,
                                  std::int64_t name) {
  CudnnDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_type(problem.dtype));
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.sizes);
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name);
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, problem.alignment);
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

// The number of what computes in a certain way, if that has the same bits in every run and, for
// f32, 24 of them: by tensor cores it has those of tf32.
std::optional<std::int64_t> exact_engine(const CudnnDescriptor& config, DType dtype, bool tf32) {
  const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.handle();
  std::int64_t count = 0, number = 0;
  check(cudnn().cudnnBackendGetAttribute(config.handle(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
        "planning a convolution");
  check(cudnn().cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
                                         1, &count, &number),
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
  const bool exact = !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
                     !has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) &&
                     !has(CUDNN_NUMERICAL_NOTE_FFT) && !(dtype == f32 && narrow);
  return exact ? std::optional(number) : std::nullopt;
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
  for (std::int64_t i = 0; i < kMostAdvice; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(configs.back().handle());
  }
  std::int64_t count = 0;
  check(cudnn().cudnnBackendGetAttribute(advice.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostAdvice, &count,
                                         handles.data()),
        "planning a convolution");
  while (std::ssize(configs) > count) {
    configs.pop_back();
  }
  return configs;
}

}  // namespace

CudnnAdvice::CudnnAdvice(const CudnnLibrary& library, const ConvProblem& problem)
    : library_(library) {
  library_.context()->use();
  parts_.push_back(tensor_descriptor(problem.x, problem, TensorName::kX));
  parts_.push_back(tensor_descriptor(problem.weight, problem, TensorName::kWeight));
  parts_.push_back(tensor_descriptor(problem.output, problem, TensorName::kOutput));
  parts_.push_back(describe_windows(problem));
  const OperationNames names = names_of(problem.result);
  CudnnDescriptor operation(names.type);
  operation.set(names.x, parts_[0]);
  operation.set(names.weight, parts_[1]);
  operation.set(names.output, parts_[2]);
  operation.set(names.windows, parts_[3]);
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
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, library_.handle());
  graph.finish();
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor& config : advised(graph, mode)) {
      if (const auto engine = exact_engine(config, problem.dtype, library_.tf32())) {
        ways_.push_back({std::move(config), *engine});
      }
    }
  }
  parts_.push_back(std::move(operation));
  parts_.push_back(std::move(graph));
}

std::unique_ptr<ConvolutionWay> CudnnAdvice::plan(std::size_t n) const {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, library_.handle());
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, ways_[n].config);
  if (!plan.try_finish()) {
    return nullptr;
  }
  std::int64_t bytes = 0, count = 0;
  check(cudnn().cudnnBackendGetAttribute(plan.handle(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                         CUDNN_TYPE_INT64, 1, &count, &bytes),
        "planning a convolution");
  return std::make_unique<CudnnPlan>(library_, std::move(plan), bytes);
}

void CudnnPlan::run(const ConvOperands& operands, void* workspace) {
  library_.context()->use();
  const void* const tensors[] = {operands.x, operands.weight, operands.output};
  const std::int64_t names[] = {TensorName::kX, TensorName::kWeight, TensorName::kOutput};
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names);
  check(cudnn().cudnnBackendSetAttribute(pack.handle(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                         CUDNN_TYPE_VOID_PTR, 3, tensors),
        "convolving");
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finish();
  check(cudnn().cudnnBackendExecute(library_.handle(), plan_.handle(), pack.handle()),
        "convolving");
}

}  // namespace antichain::cuda
