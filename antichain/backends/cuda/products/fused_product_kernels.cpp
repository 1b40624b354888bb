#include "antichain/backends/cuda/products/fused_product_kernels.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "antichain/backends/cuda/elementwise/elementwise_kernels.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::cuda {

namespace {

// The output whose memory takes the product first.
std::optional<int> home_of_product(Op op) {
  const DType dtype = product_of(op).output().dtype();
  for (int i = 0; i < op.num_outputs(); ++i) {
    if (op.output(i).dtype() == dtype) {
      return i;
    }
  }
  return std::nullopt;
}

class FusedProduct {
 public:
  FusedProduct(const KernelContext& context, const Kernel& product, const Context& device)
      : parts_(context, element_inputs(context.op)),
        home_(home_of_product(context.op)),
        product_(product.plan(parts_.product(context))),
        elements_(plan_elements(parts_.elements(context), device)) {
    if (!home_) {
      scratch_ = DeviceContext::allocate(device, parts_.value().bytes());
    }
  }

  void run(const KernelContext& context) {
    if (home_) {
      parts_.value().rebase(context.out(*home_).buffer(), context.out(*home_).offset());
    } else {
      parts_.value().rebase(scratch_, 0);
    }
    KernelContext product = parts_.product(context);
    product_(product);
    KernelContext elements = parts_.elements(context);
    elements_(elements);
  }

 private:
  ProductParts parts_;
  std::optional<int> home_;
  std::shared_ptr<Buffer> scratch_;
  KernelFunction product_, elements_;
};

Support supports_fused_product(Op op, const OpDef& def, const Kernel& kernel) {
  if (const std::string why = why_not_by_blocks(op, def); !why.empty()) {
    return Support::no(why);
  }
  const Op product = product_of(op);
  for (Var output : op.outputs()) {
    if (!(output.shape() == product.output().shape())) {
      return Support::no("a result of another shape than the product");
    }
  }
  return kernel.supports(product);
}

}  // namespace

Kernel fused_product_kernel(const OpDef& def, const Kernel& product, const Context& device) {
  return {.name = product.name + " and generated elementwise",
          .supports = [&def, product](Op op) { return supports_fused_product(op, def, product); },
          .plan = [product, device](const KernelContext& context) -> KernelFunction {
            const auto fused = std::make_shared<FusedProduct>(context, product, device);
            return [fused](KernelContext& run) { fused->run(run); };
          },
          .in_place = true,
          // The product is there before the element-wise ops read their inputs.
          .may_overwrite = [](Op op, int out, int) { return home_of_product(op) != out; }};
}

void register_fused_products(KernelTable& kernels, const Context& context) {
  for (const OpDef* def :
       {&matmul_def(), &conv_def(), &conv_input_gradient_def(), &conv_transpose_def()}) {
    for (const Kernel& product : kernels.candidates(*def)) {
      kernels.add(fused_product_def(), fused_product_kernel(*def, product, context));
    }
  }
}

std::string fused_product_code(const KernelContext& context) {
  ProductParts parts(context, element_inputs(context.op));
  return elementwise_code(parts.elements(context));
}

}  // namespace antichain::cuda
