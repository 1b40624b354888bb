#include "antichain/backends/cuda/products/row_product_kernels.h"

#include <memory>

#include "antichain/backends/cuda/products/tall_kernels.h"
#include "antichain/ops/products/row_products.h"

namespace antichain::cuda {

namespace {

class RowProductsPlan {
 public:
  RowProductsPlan(const KernelContext& context, const Context& device)
      : lefts_(static_cast<std::size_t>(context.attr<std::int64_t>("lefts"))),
        addresses_(context.inputs.size()),
        sums_(device, sources(context, 0, lefts_, false),
              sources(context, lefts_, addresses_.size(), context.attr<bool>("ones")),
              context.in(0).shape()[0]) {}

  void run(const KernelContext& context) {
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      addresses_[i] = context.inputs[i]->raw();
    }
    const TallReduction::Addresses all = addresses_;
    sums_.run(all.first(lefts_), all.subspan(lefts_), context.out().raw());
  }

 private:
  static TallSources sources(const KernelContext& context, std::size_t first, std::size_t end,
                             bool ones) {
    TallSources found{.widths = {}, .ones = ones};
    for (std::size_t i = first; i < end; ++i) {
      found.widths[i - first] = static_cast<int>(context.inputs[i]->shape()[1]);
    }
    return found;
  }

  std::size_t lefts_;
  std::vector<const void*> addresses_;
  TallReduction sums_;
};

KernelFunction plan_row_products(const KernelContext& context, const Context& device) {
  if (context.in(0).shape()[0] == 0) {
    return [device](KernelContext& run) { device->fill(run.out().raw(), 0, run.out().bytes()); };
  }
  const auto planned = std::make_shared<RowProductsPlan>(context, device);
  return [planned](KernelContext& run) { planned->run(run); };
}

Support supports_row_products(Op op) {
  if (op.output().dtype() != f32) {
    return Support::no("its numbers are not f32");
  }
  RowProductWidths widths{.ones = op.attrs().get<bool>("ones")};
  for (int i = 0; i < op.num_inputs(); ++i) {
    const Dim width = op.input(i).dim(1);
    if (!width.is_constant()) {
      return Support::no("how many columns there are is not known");
    }
    const bool is_left = i < op.attrs().get<std::int64_t>("lefts");
    (is_left ? widths.lefts : widths.rights).push_back(width.constant());
  }
  return fits_row_products(widths) ? Support{} : Support::no("it has too many columns, or none");
}

}  // namespace

void register_row_products(KernelTable& kernels, const Context& context) {
  kernels.add(row_products_def(), {.name = "sums of tiles",
                                   .supports = supports_row_products,
                                   .plan = [context](const KernelContext& seen) {
                                     return plan_row_products(seen, context);
                                   }});
}

}  // namespace antichain::cuda
