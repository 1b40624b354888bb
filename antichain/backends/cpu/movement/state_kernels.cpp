#include "antichain/backends/cpu/movement/state_kernels.h"

#include <cstring>

#include "antichain/backends/cpu/simd/loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kRangeBytes = 128 * 1024;  // per task: far more than starting one costs

// Calls f(first byte, bytes) for ranges of a packed tensor, several at once.
template <class F>
void for_byte_ranges(const Tensor& tensor, F&& f) {
  parallel_ranges(static_cast<std::int64_t>(tensor.bytes()), kRangeBytes,
                  [&](std::int64_t first, std::int64_t last) { f(first, last - first); });
}

std::byte* address_at(const Tensor& tensor, std::int64_t byte) {
  return static_cast<std::byte*>(tensor.raw()) + byte;
}

void assign_copy(KernelContext& context) {
  const Tensor& value = context.in(0);
  const auto copy = [&value](const Tensor&, const Tensor& next) {
    for_byte_ranges(next, [&](std::int64_t first, std::int64_t bytes) {
      std::memcpy(address_at(next, first), address_at(value, first),
                  static_cast<std::size_t>(bytes));
    });
  };
  context.out() = context.states->update(context.attr<std::string>("state"), copy);
}

KernelFunction add_by(ElementLoop loop) {
  return [loop](KernelContext& context) {
    const Tensor& delta = context.in(0);
    const auto element = static_cast<std::int64_t>(size_of(delta.dtype()));
    const auto add = [&](const Tensor& old, const Tensor& next) {
      for_byte_ranges(next, [&](std::int64_t first, std::int64_t bytes) {
        const void* const operands[] = {address_at(old, first), address_at(delta, first)};
        loop(operands, address_at(next, first), bytes / element);
      });
    };
    context.out() = context.states->update(context.attr<std::string>("state"), add);
  };
}

}  // namespace

void register_state_updates(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    const LoopRow* const row = binary_loops<kLevel>().find("add");
    kernels.add(add_update_def(),
                {.name = std::string(name(kLevel)) + " add to state",
                 .supports = [](Op) { return cpu_supports(kLevel); },
                 .plan =
                     [row](const KernelContext& context) {
                       return add_by(row->loops[static_cast<int>(context.in(0).dtype())]);
                     }});
  });
  kernels.add(
      assign_def(),
      {.name = "copy to state", .supports = [](Op) { return Support{}; }, .run = assign_copy});
}

}  // namespace antichain::cpu
