#include "antichain/backends/cpu/conv_plan.h"

#include <cstring>
#include <memory>

#include "antichain/backends/cpu/convert_elements.h"
#include "antichain/backends/cpu/work_blocks.h"

namespace antichain::cpu {

namespace {

// A tensor as the library wants it: converted first where its type is another.
class Converted {
 public:
  Converted(const Tensor& tensor, DType dtype) {
    if (tensor.dtype() != dtype) {
      copy_ = Tensor::empty(dtype, tensor.shape());
    }
  }
  const void* read(const Tensor& tensor) const {
    if (!copy_.defined()) {
      return tensor.raw();
    }
    convert_elements(tensor, copy_);
    return copy_.raw();
  }
  void* target(const Tensor& tensor) const { return (copy_.defined() ? copy_ : tensor).raw(); }
  void write(const Tensor& tensor) const {
    if (copy_.defined()) {
      convert_elements(copy_, tensor);
    }
  }

 private:
  Tensor copy_;
};

}  // namespace

ConvSizes ConvSizes::of(const KernelContext& context, ConvPart part) {
  const Tensor &first = context.in(0), &second = context.in(1), &result = context.out();
  const Tensor& x = part == ConvPart::output ? first : part == ConvPart::x ? result : second;
  const Tensor& weight = part == ConvPart::weight ? result : second;
  const Tensor& output = part == ConvPart::output ? result : first;
  const std::int64_t groups = context.attr<std::int64_t>("groups");
  return {.batch = x.shape()[0],
          .groups = groups,
          .in = weight.shape()[1],
          .out = weight.shape()[0] / groups,
          .windows = {spatial_axes(x.shape()), spatial_axes(weight.shape()),
                      spatial_axes(output.shape()), WindowSteps::of(*context.attrs)}};
}

double ConvSizes::work() const {
  return static_cast<double>(weight_size()) * static_cast<double>(numel(windows.output));
}

std::int64_t choose_batch_parts(const ConvSizes& sizes, std::int64_t most) {
  const std::int64_t wanted = wanted_blocks(sizes.work() * static_cast<double>(sizes.batch));
  return std::min({most, wanted, sizes.batch});
}

KernelFunction plan_conv(const KernelContext& context, ConvPart part, DType dtype,
                         const MakeConv& make) {
  if (context.out().numel() == 0) {
    return [](KernelContext&) {};
  }
  if (context.in(0).numel() == 0 || context.in(1).numel() == 0) {
    // Sums of nothing; zero has no bit set in any element type.
    return [](KernelContext& run) { std::memset(run.out().raw(), 0, run.out().bytes()); };
  }
  struct Plan {
    Converted first, second, result;
    ConvFunction compute;
  };
  const auto plan =
      std::make_shared<const Plan>(Plan{.first = Converted(context.in(0), dtype),
                                        .second = Converted(context.in(1), dtype),
                                        .result = Converted(context.out(), dtype),
                                        .compute = make(ConvSizes::of(context, part))});
  return [plan](KernelContext& run) {
    const void *first = plan->first.read(run.in(0)), *second = plan->second.read(run.in(1));
    plan->compute(first, second, plan->result.target(run.out()));
    plan->result.write(run.out());
  };
}

}  // namespace antichain::cpu
