#include "antichain/backends/cuda/chains/chain_kernels.h"

#include <memory>

#include "antichain/backends/cuda/chains/chain_code.h"
#include "antichain/backends/cuda/chains/narrow_chain.h"
#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/core/packed_input.h"

namespace antichain::cuda {

namespace {

constexpr int kChainThreads = 256;
constexpr int kMostRows = 4;  // that share what a thread reads of a matrix
constexpr int kFewestBuffers = 2, kMostBuffers = 4;

Support supports_chain(Op op, std::size_t most_shared) {
  const ChainBody body(op);
  if (!body.support.yes) {
    return body.support;
  }
  return chain_kernel(op, body, {1, kChainThreads, kFewestBuffers}).shared_bytes <= most_shared
             ? Support{}
             : Support::no("its values do not fit into the memory that threads share");
}

// As few rows as give all multiprocessors work; one per warp where a warp can keep it.
ChainKernel kernel_for(Op op, std::int64_t rows, const DeviceContext& device, ChainShape& shape) {
  const ChainBody body(op);
  if (narrow_chain_support(body).yes) {
    ChainKernel narrow = narrow_chain_kernel(op, body);
    if (narrow.shared_bytes <= device.most_shared_bytes()) {
      shape = {.rows_per_block = 1, .threads = kWarp, .buffers = 0};
      return narrow;
    }
  }
  while (shape.rows_per_block < kMostRows &&
         rows > shape.rows_per_block * device.num_multiprocessors()) {
    shape.rows_per_block *= 2;
  }
  ChainKernel kernel = chain_kernel(op, body, shape);
  while (kernel.shared_bytes > device.most_shared_bytes()) {
    (shape.buffers > kFewestBuffers ? shape.buffers : shape.rows_per_block) /= 2;
    kernel = chain_kernel(op, body, shape);
  }
  return kernel;
}

class ChainPlan {
 public:
  ChainPlan(const KernelContext& context, const Context& device)
      : launch_(make_launch(context, device)) {
    for (const auto& input : context.inputs) {
      inputs_.push_back(PackedInput::whole_aligned(device, *input));
    }
  }

  void run(const KernelContext& context) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      launch_.set(kFirstIn + i, inputs_[i].address(*context.inputs[i]));
    }
    for (std::size_t i = 0; i < context.outputs.size(); ++i) {
      const bool is_wanted = context.wanted[i] != 0 && context.outputs[i]->defined();
      launch_.set(kFirstIn + inputs_.size() + i, is_wanted ? context.outputs[i]->raw() : nullptr);
    }
    launch_.run();
  }

 private:
  static constexpr std::size_t kFirstIn = 2;  // of the arguments

  static Launch make_launch(const KernelContext& context, const Context& device) {
    const std::int64_t rows = context.in(0).shape()[0];
    ChainShape shape{1, kChainThreads, kMostBuffers};
    const ChainKernel kernel = kernel_for(context.op, rows, *device, shape);
    std::vector<std::int64_t> slots(kFirstIn + context.inputs.size() + context.outputs.size());
    slots[0] = context.size("length");
    slots[1] = rows;
    return {device,
            kernel.text,
            "chain",
            (rows + shape.rows_per_block - 1) / shape.rows_per_block,
            dim3(static_cast<unsigned>(shape.threads)),
            std::move(slots),
            kernel.shared_bytes};
  }

  Launch launch_;
  std::vector<PackedInput> inputs_;  // sequences are read 16 bytes at once
};

KernelFunction plan_chain(const KernelContext& context, const Context& device) {
  const auto planned = std::make_shared<ChainPlan>(context, device);
  return [planned](KernelContext& run) { planned->run(run); };
}

}  // namespace

void register_chains(KernelTable& kernels, const Context& context) {
  kernels.add(chain_def(),
              {.name = "generated chain",
               .supports = [most = context->most_shared_bytes()](
                               Op op) { return supports_chain(op, most); },
               .plan = [context](const KernelContext& seen) { return plan_chain(seen, context); },
               .skips_unwanted = true});
}

}  // namespace antichain::cuda
