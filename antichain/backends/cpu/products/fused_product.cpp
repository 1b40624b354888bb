#include "antichain/backends/cpu/products/fused_product.h"

#include <algorithm>
#include <numeric>

#include "antichain/backends/cpu/elementwise/planned_loops.h"
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/ops/products/fused_product.h"

namespace antichain::cpu {

namespace {

Support supports_fused_product(SimdLevel level, Op op, const ProductKernel& kernel,
                               JitCompiler* jit) {
  if (const std::string why = why_not_by_blocks(op, *kernel.def); !why.empty()) {
    return Support::no(why);
  }
  if (Support support = kernel.supports(product_of(op)); !support.yes) {
    return support;
  }
  return supports_steps(level, op, fused_steps(level, op), jit);
}

std::vector<std::size_t> all_inputs(const KernelContext& context) {
  std::vector<std::size_t> all(context.inputs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

class FusedProduct {
 public:
  FusedProduct(const KernelContext& context, const ProductKernel& kernel, FusedSteps steps)
      : parts_(context, all_inputs(context)),
        product_(kernel.plan(parts_.product(context), Destination::taker)),
        elementwise_(parts_.elements(context), std::move(steps),
                     {.input = context.num_inputs(), .cuts_rows = product_.cuts_rows}) {}

  void run(const KernelContext& context) {
    const ElementwisePlan::Operands operands = elementwise_.operands(parts_.elements(context));
    const auto take_block = [&](const Block& block, const std::byte* elements) {
      elementwise_.plan().run_block(operands, block, elements);
    };
    const TakeBlock take(take_block);
    KernelContext product = parts_.product(context);
    product_.run(product, &take);
  }

 private:
  ProductParts parts_;
  ProductPlan product_;
  PlannedLoops elementwise_;
};

// A block is written when its own elements of the inputs have been read; but other blocks still
// read the factors.
bool may_overwrite_beside_blocks(Op op, int out, int in) {
  const std::vector<std::size_t> factors = product_inputs(op);
  return std::ranges::find(factors, static_cast<std::size_t>(in)) == factors.end() &&
         may_overwrite(op, out, in);
}

Kernel make_fused_product_kernel(SimdLevel level, const ProductKernel& product,
                                 const std::shared_ptr<JitCompiler>& jit) {
  return {.name = product.name + " and " + std::string(name(level)) + " elementwise",
          .supports = [level, product, jit](
                          Op op) { return supports_fused_product(level, op, product, jit.get()); },
          .plan = [level, product, jit](const KernelContext& context) -> KernelFunction {
            FusedSteps steps = fused_steps(level, context.op);
            if (jit) {
              steps = with_compiled_runs(steps, context.inputs.size() + 1, *jit);
            }
            const auto fused = std::make_shared<FusedProduct>(context, product, std::move(steps));
            return [fused](KernelContext& running) { fused->run(running); };
          },
          .strided_inputs = product.strided_inputs,
          .in_place = true,
          .may_overwrite = may_overwrite_beside_blocks};
}

}  // namespace

void register_fused_products(KernelTable& kernels, const std::vector<ProductKernel>& products,
                             const std::shared_ptr<JitCompiler>& jit) {
  for (const ProductKernel& product : products) {
    if (is_fusible_product(*product.def)) {
      for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
        kernels.add(fused_product_def(), make_fused_product_kernel(kLevel, product, jit));
      });
    }
  }
}

}  // namespace antichain::cpu
