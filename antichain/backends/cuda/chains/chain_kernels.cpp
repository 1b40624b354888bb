#include "antichain/backends/cuda/chains/chain_kernels.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "antichain/backends/cuda/chains/chain_code.h"
#include "antichain/backends/cuda/chains/chain_slabs.h"
#include "antichain/backends/cuda/chains/narrow_chain.h"
#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/core/packed_input.h"

namespace antichain::cuda {

namespace {

constexpr int kChainThreads = 256;
constexpr int kMostRows = 4;  // that share what a thread reads of a matrix
constexpr int kFewestBuffers = 2, kMostBuffers = 4;
constexpr int kFewestSlabs = 2, kMostSlabs = 4;
constexpr int kMostTallRows = 64, kMostTallThreads = 512;
constexpr double kBlocksWanted = 1.5;  // per multiprocessor, before a block takes more rows
// Whole matrices of a step that a block may read for a few rows: those of 256 x 256.
constexpr std::size_t kMostPassingBytes = 300'000;
// Elements of a matrix from which on products of small floats by tensor cores, group by group, are
// faster than all steps in one kernel without them.
constexpr std::int64_t kTensorCoresPay = 128 * 128;

std::size_t matrix_bytes(const ChainBody& body) {
  std::size_t bytes = 0;
  for (const ChainStage& stage : body.stages) {
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      const ChainValue& matrix = body.values[static_cast<std::size_t>(product->matrix)];
      bytes += static_cast<std::size_t>(matrix.height * matrix.columns) * size_of(matrix.dtype);
    }
  }
  return bytes;
}

bool tensor_cores_pay(const ChainBody& body) {
  return std::ranges::any_of(body.values, [](const ChainValue& value) {
    return value.kind == ChainValue::Kind::matrix && size_of(value.dtype) == 2 &&
           value.height * value.columns >= kTensorCoresPay;
  });
}

Support supports_chain(Op op, std::size_t most_shared, bool tf32) {
  const ChainBody body(op);
  if (!body.support.yes) {
    return body.support;
  }
  if (body.has_groups && tensor_cores_pay(body)) {
    return Support::no("tensor cores are faster, step by step");
  }
  if (chain_kernel(op, body, {1, kChainThreads, kFewestBuffers}).shared_bytes <= most_shared) {
    return {};
  }
  if (const std::string reason = why_not_by_slabs(body); !reason.empty()) {
    return Support::no("its values do not fit into the memory that threads share, and " + reason);
  }
  if (tf32 || matrix_bytes(body) > kMostPassingBytes ||
      chain_kernel(op, body, {1, kChainThreads, kFewestBuffers, kFewestSlabs}).shared_bytes >
          most_shared) {
    return Support::no("its values do not fit into the memory that threads share");
  }
  return {};
}

// Rows of a chain, and groups of them.
struct ChainRows {
  std::int64_t rows, groups;
  std::int64_t all() const { return rows * groups; }
};

// The kernel with as many slabs as fit; two blocks in a multiprocessor wait less than one.
std::optional<ChainKernel> by_slabs(Op op, const ChainBody& body, std::size_t most_shared,
                                    ChainShape& shape) {
  for (shape.slabs = kMostSlabs; shape.slabs >= kFewestSlabs; --shape.slabs) {
    ChainKernel kernel = chain_kernel(op, body, shape);
    const bool is_last = shape.slabs == kFewestSlabs;
    if (kernel.shared_bytes <= (is_last ? most_shared : most_shared / 2)) {
      return kernel;
    }
  }
  return std::nullopt;
}

// Many rows per block where there are enough of them for all multiprocessors: what is read of a
// matrix is used by all of them.
std::optional<ChainKernel> tall_kernel(Op op, const ChainBody& body, const ChainRows& rows,
                                       const DeviceContext& device, ChainShape& shape) {
  if (!why_not_by_slabs(body).empty()) {
    return std::nullopt;
  }
  const double blocks = kBlocksWanted * static_cast<double>(device.num_multiprocessors());
  for (int tall = kMostTallRows; tall >= device::kTallRows; tall /= 2) {
    const bool is_too_tall =
        tall > power_of_two(rows.rows) || static_cast<double>(rows.all()) < tall * blocks;
    const int threads = slab_threads(body, tall);
    if (is_too_tall || threads > kMostTallThreads) {
      continue;
    }
    shape = {.rows_per_block = tall, .threads = threads, .buffers = kFewestBuffers};
    if (auto kernel = by_slabs(op, body, device.most_shared_bytes(), shape)) {
      return kernel;
    }
  }
  return std::nullopt;
}

// As few rows as give all multiprocessors work; one per warp where a warp can keep it.
ChainKernel kernel_for(Op op, const ChainRows& rows, const DeviceContext& device,
                       ChainShape& shape) {
  const ChainBody body(op);
  if (narrow_chain_support(body).yes) {
    ChainKernel narrow = narrow_chain_kernel(op, body);
    if (narrow.shared_bytes <= device.most_shared_bytes()) {
      shape = {.rows_per_block = 1, .threads = kWarp, .buffers = 0};
      return narrow;
    }
  }
  if (auto tall = tall_kernel(op, body, rows, device, shape)) {
    return *tall;
  }
  shape = {.rows_per_block = 1, .threads = kChainThreads, .buffers = kMostBuffers};
  while (shape.rows_per_block < kMostRows &&
         rows.all() > shape.rows_per_block * device.num_multiprocessors()) {
    shape.rows_per_block *= 2;
  }
  ChainKernel kernel = chain_kernel(op, body, shape);
  while (kernel.shared_bytes > device.most_shared_bytes() &&
         (shape.buffers > kFewestBuffers || shape.rows_per_block > 1)) {
    (shape.buffers > kFewestBuffers ? shape.buffers : shape.rows_per_block) /= 2;
    kernel = chain_kernel(op, body, shape);
  }
  if (kernel.shared_bytes <= device.most_shared_bytes()) {
    return kernel;
  }
  std::optional<ChainKernel> passing;
  for (int few = kMostRows; few > 0 && !passing; few /= 2) {
    if (few == 1 || rows.all() > few / 2 * device.num_multiprocessors()) {
      shape = {.rows_per_block = few,
               .threads = std::max(kChainThreads, slab_threads(body, few)),
               .buffers = kFewestBuffers};
      passing = by_slabs(op, body, device.most_shared_bytes(), shape);
    }
  }
  ensure(passing.has_value(), "the kernel of a chain that was taken does not fit");
  return *passing;
}

class ChainPlan {
 public:
  ChainPlan(const KernelContext& context, const Context& device)
      : launch_(make_launch(context, device)) {
    const ChainLayout layout(context.op);
    const std::size_t first = first_step(context);
    for (const auto& [input, is_grouped] : inputs_read(context.op)) {
      const auto i = static_cast<std::size_t>(input);
      const Tensor& seen = *context.inputs[i];
      const bool walks = input >= layout.first_x() && input < layout.first_captured();
      const std::size_t steps = walks ? 1 : 0;
      const PackedInput read = is_grouped ? PackedInput::with_packed_parts(device, seen, steps + 1)
                                          : PackedInput::whole_aligned(device, seen);
      launch_.set(first + i, walks ? read.strides()[0] : 0);
      launch_.set(first + context.inputs.size() + i, is_grouped ? read.strides()[steps] : 0);
      inputs_.emplace_back(i, read);
    }
  }

  void run(const KernelContext& context) {
    for (auto& [i, read] : inputs_) {
      launch_.set(kFirstIn + i, read.address(*context.inputs[i]));
    }
    for (std::size_t i = 0; i < context.outputs.size(); ++i) {
      const bool is_wanted = context.wanted[i] != 0 && context.outputs[i]->defined();
      launch_.set(kFirstIn + context.inputs.size() + i,
                  is_wanted ? context.outputs[i]->raw() : nullptr);
    }
    launch_.run();
  }

 private:
  static constexpr std::size_t kFirstIn = 2;  // of the arguments
  static std::size_t first_step(const KernelContext& context) {
    return kFirstIn + context.inputs.size() + context.outputs.size() + 1;
  }
  // The inputs that the body reads, and whether every group has its own there.
  static std::map<int, bool> inputs_read(Op op) {
    std::map<int, bool> read;
    for (const ChainValue& value : ChainBody(op).values) {
      if (value.input >= 0) {
        read[value.input] |= value.grouped;
      }
    }
    return read;
  }

  static Launch make_launch(const KernelContext& context, const Context& device) {
    const Shape& state = context.in(0).shape();
    const ChainRows rows{state.end()[-2], state.size() == 3 ? state[0] : 1};
    ChainShape shape{};
    const ChainKernel kernel = kernel_for(context.op, rows, *device, shape);
    std::vector<std::int64_t> slots(first_step(context) + 2 * context.inputs.size());
    slots[0] = context.size("length");
    slots[1] = rows.rows;
    slots[first_step(context) - 1] = rows.groups;
    return {device,
            kernel.text,
            "chain",
            divided_up(rows.rows, shape.rows_per_block) * rows.groups,
            dim3(static_cast<unsigned>(shape.threads)),
            std::move(slots),
            kernel.shared_bytes};
  }

  Launch launch_;
  // By number, those that are read; sequences 16 bytes at once.
  std::vector<std::pair<std::size_t, PackedInput>> inputs_;
};

KernelFunction plan_chain(const KernelContext& context, const Context& device) {
  const auto planned = std::make_shared<ChainPlan>(context, device);
  return [planned](KernelContext& run) { planned->run(run); };
}

}  // namespace

void register_chains(KernelTable& kernels, const Context& context, bool tf32) {
  kernels.add(chain_def(),
              {.name = "generated chain",
               .supports = [most = context->most_shared_bytes(),
                            tf32](Op op) { return supports_chain(op, most, tf32); },
               .plan = [context](const KernelContext& seen) { return plan_chain(seen, context); },
               .strided_inputs = true,
               .skips_unwanted = true});
}

}  // namespace antichain::cuda
