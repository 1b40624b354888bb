#include "antichain/backends/cuda/movement_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/strided_loop.h"
#include "antichain/ops/moves.h"

namespace antichain::cuda {

namespace {

constexpr std::string_view word_type(std::size_t bytes) {
  return bytes == 1   ? "unsigned char"
         : bytes == 2 ? "unsigned short"
         : bytes == 4 ? "unsigned"
                      : "unsigned long long";
}

std::string copy_text(const StridedLoop& loop, std::size_t bytes) {
  std::string text = "using Index = long long;\nstruct Arguments {\n" + loop.members_code();
  text += fmt::format("  {0}* to;\n  const {0}* from;\n}};\n", word_type(bytes));
  text += "extern \"C\" __global__ void strided_copy(const Arguments a) {\n";
  text += "  const Index step = (Index)gridDim.x * blockDim.x;\n";
  text +=
      "  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {\n";
  text += loop.positions_code();
  return text + fmt::format("    a.to[{}] = a.from[{}];\n  }}\n}}\n", loop.place_code(0),
                            loop.place_code(1));
}

struct PlannedMove {
  int output, input;
  std::int64_t to_bytes, from_bytes;  // of the first elements, from the start of the tensors
  std::size_t first_slot;             // of the addresses
  Launch launch;
};

KernelFunction plan(const KernelContext& context, const Context& device) {
  const std::size_t bytes = size_of(context.in(0).dtype());
  const auto moves = std::make_shared<std::vector<PlannedMove>>();
  for (const Move& move : moves_of(context)) {
    const StridedLoop loop(move.to.shape, {move.to.strides, move.from.strides});
    std::vector<std::int64_t> slots = loop.slots();
    const std::size_t first = slots.size();
    slots.resize(first + 2);
    moves->push_back(
        {move.output, move.input, move.to.offset * static_cast<std::int64_t>(bytes),
         move.from.offset * static_cast<std::int64_t>(bytes), first,
         Launch(device, copy_text(loop, bytes), "strided_copy", loop.count, std::move(slots))});
  }
  return [moves](KernelContext& run) {
    for (PlannedMove& move : *moves) {
      const auto at = [](const Tensor& tensor, std::int64_t byte) {
        return static_cast<const std::byte*>(tensor.raw()) + byte;
      };
      move.launch.set(move.first_slot, at(run.out(move.output), move.to_bytes));
      move.launch.set(move.first_slot + 1, at(run.in(move.input), move.from_bytes));
      move.launch.run();
    }
  };
}

}  // namespace

void register_movement(KernelTable& kernels, const Context& context) {
  for (const OpDef* def : moving_ops()) {
    kernels.add(*def, {.name = "strided copy",
                       .supports = [](Op) { return Support{}; },
                       .plan = [context](const KernelContext& seen) { return plan(seen, context); },
                       .strided_inputs = true});
  }
}

}  // namespace antichain::cuda
