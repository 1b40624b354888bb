#include "antichain/backends/cpu/products/product_kernel.h"

#include <cstring>

#include "antichain/backends/cpu/elementwise/convert_elements.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"

namespace antichain::cpu {

void ProductTarget::make(const Block& block, FunctionRef<void(void* elements)> compute) const {
  const DType dtype = output_.dtype();
  const auto in_output = [&](std::int64_t element) {
    return static_cast<std::byte*>(output_.raw()) +
           element * static_cast<std::int64_t>(size_of(dtype));
  };
  if (take_ == nullptr && computed_ == dtype) {
    compute(in_output(block.first));
    return;
  }
  const auto size = static_cast<std::size_t>(block.elements());
  const std::size_t bytes = whole_cache_lines(size * size_of(computed_));
  const bool converts = computed_ != dtype;
  std::byte* const elements =
      thread_scratch(bytes + (converts ? size * size_of(dtype) : 0), ScratchUse::around_kernels);
  compute(elements);
  std::byte* const finished = converts ? elements + bytes : elements;
  if (converts) {
    convert_elements(elements, computed_, finished, dtype, block.elements());
  }
  if (take_ != nullptr) {
    (*take_)(block, finished);
    return;
  }
  const std::size_t row = static_cast<std::size_t>(block.width) * size_of(dtype);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    std::memcpy(in_output(block.first + i * block.step),
                finished + static_cast<std::size_t>(i) * row, row);
  }
}

ProductPlan plan_zeros() {
  return {.run = [](KernelContext& run, const TakeBlock* take) {
    const Tensor& out = run.out();
    const ProductTarget target(out, out.dtype(), take);
    // Zero has no bit set in any element type.
    target.make({0, 1, out.numel(), out.numel()},
                [&](void* elements) { std::memset(elements, 0, out.bytes()); });
  }};
}

void register_products(KernelTable& kernels, const std::vector<ProductKernel>& products) {
  for (const ProductKernel& product : products) {
    kernels.add(*product.def,
                {.name = product.name,
                 .supports = product.supports,
                 .plan = [plan = product.plan](const KernelContext& context) -> KernelFunction {
                   const ProductPlan planned = plan(context, Destination::output);
                   return [run = planned.run](KernelContext& running) { run(running, nullptr); };
                 },
                 .strided_inputs = product.strided_inputs});
  }
}

}  // namespace antichain::cpu
