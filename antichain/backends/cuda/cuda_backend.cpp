#include "antichain/backends/cuda/cuda_backend.h"

#include <algorithm>

#include "antichain/backends/cuda/chains/chain_kernels.h"
#include "antichain/backends/cuda/elementwise/cast_kernels.h"
#include "antichain/backends/cuda/indexing/along_kernels.h"
#include "antichain/backends/cuda/prepared_parts.h"
#include "antichain/backends/cuda/products/attention_kernels.h"
#include "antichain/backends/cuda/rows/channel_kernels.h"
#include "antichain/backends/cuda/scans/affine_scan_kernels.h"
#ifdef ANTICHAIN_HAS_CUDNN
#include "antichain/backends/cuda/convolution/convolution_kernels.h"
#endif
#include "antichain/backends/cuda/convolution/pooling_kernels.h"
#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/backends/cuda/core/dynamic_kernels.h"
#include "antichain/backends/cuda/core/graph_recording.h"
#include "antichain/backends/cuda/core/host_arrival.h"
#include "antichain/backends/cuda/elementwise/creation_kernels.h"
#include "antichain/backends/cuda/elementwise/elementwise_kernels.h"
#include "antichain/backends/cuda/elementwise/finite_kernels.h"
#include "antichain/backends/cuda/elementwise/random_kernels.h"
#include "antichain/backends/cuda/elementwise/row_update_kernels.h"
#include "antichain/backends/cuda/elementwise/update_kernels.h"
#include "antichain/backends/cuda/hashing/hashing_kernels.h"
#include "antichain/backends/cuda/indexing/index_kernels.h"
#include "antichain/backends/cuda/indexing/scatter_kernels.h"
#include "antichain/backends/cuda/indexing/sort_kernels.h"
#include "antichain/backends/cuda/indexing/unique_kernels.h"
#include "antichain/backends/cuda/movement/movement_kernels.h"
#include "antichain/backends/cuda/products/fused_product_kernels.h"
#include "antichain/backends/cuda/products/integer_matmul.h"
#include "antichain/backends/cuda/products/matmul_kernels.h"
#include "antichain/backends/cuda/products/row_product_kernels.h"
#include "antichain/backends/cuda/products/sparse_kernels.h"
#include "antichain/backends/cuda/rows/reduce_kernels.h"
#include "antichain/backends/cuda/scans/scan_choice.h"
#include "antichain/backends/cuda/scans/weighted_scan_kernels.h"
#include "antichain/ops/convolution/convolution.h"

namespace antichain {

namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(int index, const CudaOptions& options)
      : context_(cuda::shared_context(index)), tf32_(options.tf32) {
    cuda::register_elementwise(kernels_, context_);
    cuda::register_casts(kernels_, context_);
    cuda::register_movement(kernels_, context_);
    cuda::register_creation(kernels_, context_);
    cuda::register_dynamic(kernels_, context_);
    cuda::register_indexing(kernels_, context_);
    cuda::register_scatter(kernels_, context_);
    cuda::register_unique_indices(kernels_, context_);
    cuda::register_reductions(kernels_, context_);
    cuda::register_channel_sums(kernels_, context_);
    cuda::register_along_axis(kernels_, context_);
    cuda::register_sorting(kernels_, context_);
    cuda::register_pooling(kernels_, context_);
    cuda::register_matmul(kernels_, context_, tf32_);
    cuda::register_row_products(kernels_, context_);
    cuda::register_integer_matmul(kernels_, context_);
    cuda::register_attention(kernels_, context_);
    cuda::register_sparse(kernels_, context_);
#ifdef ANTICHAIN_HAS_CUDNN
    cuda::register_convolution(kernels_, context_, tf32_);
#endif
    cuda::register_fused_products(kernels_, context_);
    cuda::register_chains(kernels_, context_, tf32_);
    cuda::register_affine_scan(kernels_, context_);
    cuda::register_weighted_scan(kernels_, context_);
    cuda::register_random(kernels_, context_);
    cuda::register_optimiser_steps(kernels_, context_);
    cuda::register_row_updates(kernels_, context_);
    cuda::register_finite_check(kernels_, context_);
    cuda::register_hashing(kernels_, context_);
  }

  std::string_view name() const override { return "cuda"; }
  Device device() const override { return context_->device(); }
  std::unique_lock<std::recursive_mutex> hold() const override { return context_->hold(); }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    const std::size_t bytes = static_cast<std::size_t>(numel(shape)) * size_of(dtype);
    return Tensor(dtype, shape, contiguous_strides(shape), 0,
                  cuda::DeviceContext::allocate(context_, bytes));
  }
  Tensor to_device(const Tensor& tensor) const override {
    return tensor.device() == device()
               ? tensor
               : copied(allocate(tensor.dtype(), tensor.shape()), tensor.contiguous());
  }
  Tensor to_host(const Tensor& tensor) const override {
    if (tensor.device() == Device{}) {
      return tensor;
    }
    if (tensor.is_contiguous()) {
      return copied(Tensor::empty(tensor.dtype(), tensor.shape()), tensor);
    }
    // All of the memory that a view is of, and then the view.
    const Buffer& memory = *tensor.buffer();
    const std::shared_ptr<Buffer> all = allocate_host(memory.bytes());
    context_->copy(all->data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost);
    return Tensor(tensor.dtype(), tensor.shape(), tensor.strides(), tensor.offset(), all);
  }
  std::unique_ptr<Arrival> send_to_host(const Tensor& tensor) const override {
    return tensor.device() == device() ? cuda::send_to_host(context_, tensor) : nullptr;
  }
  void end_run() const override { context_->end_run(); }
  // Tensor cores read values with channels last; cuDNN copies others there and back.
  double channels_last_gain(Op op) const override {
    const std::vector<const OpDef*> convolutions = convolution_family();
    const DType dtype = op.output().dtype();
    const bool is_conv = std::ranges::find(convolutions, &op.def()) != convolutions.end();
    const bool by_tensor_cores = dtype == bf16 || dtype == f16 || (dtype == f32 && tf32_);
    return is_conv && by_tensor_cores ? 1 : 0;
  }
  bool wants_few_kernels() const override { return true; }
  std::function<void()> order_after(void* stream) const override {
    auto* const other = static_cast<cudaStream_t>(stream);
    cuda::check(context_->order(context_->stream(), other), "waiting for another library");
    return [context = context_, other] {
      static_cast<void>(context->order(other, context->stream()));
    };
  }
  bool records() const override { return true; }
  std::unique_ptr<Recording> record(
      std::size_t count, FunctionRef<void(std::size_t step)> run,
      FunctionRef<std::vector<std::size_t>(std::size_t step)> needs) const override {
    return cuda::record_graph(context_, count, run, needs);
  }
  void copy(const Tensor& to, const Tensor& from) const override {
    if (to.device() == Device{} && from.device() == Device{}) {
      to.copy_from(from);
    } else {
      copied(to, from);
    }
  }
  std::string explain(Op op, const DimEnv& sizes) const override {
    const cuda::MeasuredChoices measured(device().index);
    return kernels_.has_kernel(op) ? cuda::explain_scan(op, sizes, &measured) : std::string();
  }

 private:
  Tensor copied(const Tensor& to, const Tensor& from) const {
    const cudaMemcpyKind kind = to.device() == Device{}     ? cudaMemcpyDeviceToHost
                                : from.device() == Device{} ? cudaMemcpyHostToDevice
                                                            : cudaMemcpyDeviceToDevice;
    context_->copy(to.raw(), from.raw(), from.bytes(), kind);
    return to;
  }

  cuda::Context context_;
  bool tf32_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int index, const CudaOptions& options) {
  return std::make_unique<CudaBackend>(index, options);
}

std::vector<PreparedPart> cuda_prepared_parts(int index) {
  return cuda::shared_context(index)->preparation().parts();
}

}  // namespace antichain
