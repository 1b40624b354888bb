#include "antichain/backends/cpu/cpu_backend.h"

#include "antichain/backends/cpu/convolution/blas_convolution.h"
#include "antichain/backends/cpu/convolution/pooling_kernels.h"
#include "antichain/backends/cpu/elementwise/elementwise.h"
#include "antichain/backends/cpu/elementwise/fused_steps.h"
#include "antichain/backends/cpu/elementwise/random_kernels.h"
#include "antichain/backends/cpu/elementwise/row_update_kernels.h"
#include "antichain/backends/cpu/elementwise/update_kernels.h"
#include "antichain/backends/cpu/hashing/hashing_kernels.h"
#include "antichain/backends/cpu/indexing/along_kernels.h"
#include "antichain/backends/cpu/indexing/gather_kernels.h"
#include "antichain/backends/cpu/indexing/top_k_kernel.h"
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/backends/cpu/movement/movement_kernels.h"
#include "antichain/backends/cpu/movement/state_kernels.h"
#include "antichain/backends/cpu/products/blas_matmul.h"
#include "antichain/backends/cpu/products/fused_product.h"
#include "antichain/backends/cpu/products/onednn_kernels.h"
#include "antichain/backends/cpu/products/sparse_kernels.h"
#include "antichain/backends/cpu/rows/channel_sum_kernels.h"
#include "antichain/backends/cpu/rows/norm_gradient_kernels.h"
#include "antichain/backends/cpu/rows/reduce_kernels.h"
#include "antichain/backends/cpu/rows/row_squares_kernel.h"
#include "antichain/backends/cpu/rows/rowwise_kernels.h"
#include "antichain/backends/cpu/scans/scan_kernels.h"
#include "antichain/backends/cpu/step_time.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/scans/affine_scan.h"

namespace antichain {

namespace {

// Of each kind, in the order in which they are tried.
std::vector<cpu::ProductKernel> products() {
  std::vector<cpu::ProductKernel> products;
  cpu::add_onednn_matmul(products);
  cpu::add_blas_matmul(products);
  cpu::add_onednn_convolution(products);
  cpu::add_blas_convolution(products);
  return products;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() {
    cpu::register_elementwise(kernels_, jit_);
    cpu::register_movement(kernels_);
    cpu::register_windows(kernels_);
    cpu::register_gather(kernels_);
    cpu::register_scatter(kernels_);
    cpu::register_unique_indices(kernels_);
    cpu::register_reductions(kernels_);
    cpu::register_state_updates(kernels_);
    cpu::register_optimiser_steps(kernels_);
    cpu::register_row_updates(kernels_);
    cpu::register_row_squares(kernels_);
    cpu::register_products(kernels_, products());
    cpu::register_fused_products(kernels_, products(), jit_);
    cpu::register_rowwise(kernels_);
    cpu::register_norm_gradients(kernels_);
    cpu::register_channel_sums(kernels_);
    cpu::register_along_axis(kernels_);
    cpu::register_top_k(kernels_);
    cpu::register_scans(kernels_);
    cpu::register_sparse(kernels_);
    cpu::register_hashing(kernels_);
    cpu::register_pooling(kernels_);
    cpu::register_random(kernels_);
  }

  std::string_view name() const override { return "cpu"; }
  Device device() const override { return {}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    return host_memory().allocate(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return host_memory().to_host(tensor); }
  Tensor to_host(const Tensor& tensor) const override { return host_memory().to_host(tensor); }
  void copy(const Tensor& to, const Tensor& from) const override { host_memory().copy(to, from); }
  int lanes() const override { return cpu::num_threads(); }
  StepTime step_time(Op op, const DimEnv& sizes) const override {
    return cpu::step_time(op, sizes, lanes());
  }
  void run_lanes(int count, FunctionRef<void(int lane)> run) const override {
    cpu::parallel_tasks(count, [&run](std::int64_t lane) { run(static_cast<int>(lane)); });
  }
  double channels_last_gain(Op op) const override { return cpu::onednn_channels_last_gain(op); }
  std::string explain(Op op, const DimEnv& sizes) const override {
    return &op.def() == &affine_scan_def() ? cpu::explain_scan(op, sizes) : std::string();
  }
  std::string generated_code(Op op) const override {
    const bool is_fused = &op.def() == &fused_def() || &op.def() == &fused_product_def();
    return jit_ && is_fused ? cpu::compiled_code(op, *jit_) : std::string();
  }

 private:
  std::shared_ptr<cpu::JitCompiler> jit_ = cpu::make_jit_compiler();
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace antichain
