#include "antichain/backends/cuda/core/launch.h"

#include <algorithm>

#include "antichain/backends/cuda/core/cuda_error.h"

namespace antichain::cuda {

namespace {

constexpr int kThreadsPerBlock = 256;
constexpr std::int64_t kBlocksPerMultiprocessor = 32;  // several waves even out the load

std::int64_t grid_of(const DeviceContext& context, std::int64_t threads) {
  const std::int64_t wanted = (threads + kThreadsPerBlock - 1) / kThreadsPerBlock;
  return std::min(wanted, kBlocksPerMultiprocessor * context.num_multiprocessors());
}

}  // namespace

Launch::Launch(const Context& context, const std::string& text, const std::string& name,
               std::int64_t threads, std::vector<std::int64_t> slots)
    : Launch(context, text, name, grid_of(*context, threads), dim3(kThreadsPerBlock),
             std::move(slots)) {}

Launch::Launch(const Context& context, const std::string& text, const std::string& name,
               std::int64_t blocks, dim3 block, std::vector<std::int64_t> slots,
               std::size_t shared_bytes)
    : context_(context),
      name_(name),
      blocks_(static_cast<unsigned>(blocks)),
      block_(block),
      shared_bytes_(shared_bytes),
      slots_(std::move(slots)) {
  if (blocks_ > 0) {
    code_ = &context_->code().start(text);
  }
}

void Launch::load() {
  ensure(code_ != nullptr, "a launch that was made without blocks has some now");
  kernel_ = context_->code().load(*code_, name_);
  if (shared_bytes_ > 0) {
    check(
        cudaKernelSetAttributeForDevice(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared_bytes_), context_->device().index),
        "loading a kernel");
  }
}

void Launch::set_threads(std::int64_t threads) { set_blocks(grid_of(*context_, threads)); }

void Launch::set_operands(std::size_t first_in, std::size_t first_out,
                          const KernelContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    set(first_in + i, context.inputs[i]->raw());
  }
  for (std::size_t i = 0; i < context.outputs.size(); ++i) {
    set(first_out + i, context.outputs[i]->raw());
  }
}

void Launch::run() {
  if (blocks_ == 0) {
    return;
  }
  context_->use();
  if (kernel_ == nullptr) {
    load();
  }
  void* arguments[] = {slots_.data()};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel_), dim3(blocks_), block_, arguments,
                         shared_bytes_, context_->stream()),
        "starting a kernel");
}

}  // namespace antichain::cuda
