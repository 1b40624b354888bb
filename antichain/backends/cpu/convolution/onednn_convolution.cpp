#include <algorithm>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/convolution/blas_convolution.h"
#include "antichain/backends/cpu/convolution/conv_plan.h"
#include "antichain/backends/cpu/convolution/onednn_staged_conv.h"
#include "antichain/backends/cpu/products/onednn_kernels.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/partial_sums.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/backends/cpu/threads/work_blocks.h"
#include "antichain/ops/convolution/convolution.h"

namespace antichain::cpu {

namespace {

using onednn::StagedConv;
using onednn::Staging;

// What one thread works on stays in its second-level cache, in both layouts.
constexpr std::int64_t kStepBytes = 1 << 19;
constexpr std::int64_t kChannelGranule = 16;  // what oneDNN keeps together
#ifdef ANTICHAIN_HAS_BLAS
// oneDNN fills vectors with channels; the gradient of fewer than these is faster by columns.
constexpr std::int64_t kFewestInputChannels = 8;
#endif

// The most examples that fit the cache, of those numbers that divide the batch (one primitive then
// serves all steps) and leave enough steps to share out.
std::int64_t choose_step(const ConvSizes& sizes, DType dtype, std::int64_t parts) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t fitting = kStepBytes / ((sizes.x_size() + sizes.output_size()) * bytes);
  std::int64_t step = std::clamp<std::int64_t>(fitting, 1, sizes.batch / parts);
  while (sizes.batch % step != 0) {
    --step;
  }
  return step;
}

// Bytes from the start of a tensor.
const void* byte_at(const void* start, std::int64_t bytes) {
  return static_cast<const std::byte*>(start) + bytes;
}

// The weight of some channels, brought into the layout that oneDNN computes in once per run.
class WeightCopy {
 public:
  WeightCopy(const onednn::Layout& plain, const onednn::Layout& best)
      : staging_(plain, best, Staging::Way::in),
        memory_(Tensor::empty(u8, {static_cast<std::int64_t>(staging_.bytes())})) {}

  // Returns where the weight is then.
  void* make(const void* weight) {
    void* const from = const_cast<void*>(weight);
    if (!staging_.needed()) {
      return from;
    }
    staging_.run(from, memory_.raw(), thread_scratch(staging_.scratch_bytes()));
    return memory_.raw();
  }

 private:
  Staging staging_;
  Tensor memory_;
};

// Output, or gradient of x: each thread computes some channels of some examples, a cacheful at a
// time.
class ExampleConv {
 public:
  ExampleConv(const ConvSizes& sizes, ConvPart part, DType dtype, bool apart) {
    const ConvGrid grid = choose_conv_grid(sizes, part);
    const std::int64_t step = choose_step(sizes, dtype, grid.batch);
    const Cut steps(sizes.batch / step, grid.batch);
    const Cut channels(part == ConvPart::x ? sizes.in : sizes.out, grid.channels, kChannelGranule);
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    const bool is_output = part == ConvPart::output;
    in_bytes_ = step * bytes * (is_output ? sizes.x : sizes.output).example;
    out_size_ = step * (is_output ? sizes.output : sizes.x).example;
    for (std::int64_t c = 0; c < channels.parts(); ++c) {
      ConvSlice slice = slice_channels(sizes, part, channels.first(c), channels.length_of(c));
      slice.sizes.batch = step;
      const Block block = slice.result_of(part, step);
      if (apart) {
        (is_output ? slice.sizes.output : slice.sizes.x) =
            is_output ? slice.sizes.packed_output() : slice.sizes.packed_x();
      }
      for (std::int64_t i = 0; i < steps.parts(); ++i) {
        tasks_.push_back({.first = steps.first(i),
                          .last = steps.first(i) + steps.length_of(i),
                          .slice = static_cast<std::size_t>(c),
                          .block = block,
                          .conv = {slice.sizes, part, dtype, StagedConv::Weight::best}});
      }
      slices_.push_back({.weight_at = slice.second_at * bytes,
                         .copy = {onednn::plain_layouts(slice.sizes, part, dtype).weight,
                                  tasks_.back().conv.weight_layout()}});
    }
  }

  void run(const void* in, const void* weight, const ProductTarget& out) {
    parallel_tasks(std::ssize(slices_), [&](std::int64_t i) {
      Slice& slice = slices_[static_cast<std::size_t>(i)];
      slice.weight = slice.copy.make(byte_at(weight, slice.weight_at));
    });
    parallel_tasks(std::ssize(tasks_), [&](std::int64_t i) {
      Task& task = tasks_[static_cast<std::size_t>(i)];
      Block block = task.block;
      for (std::int64_t n = task.first; n < task.last; ++n) {
        block.first = task.block.first + n * out_size_;
        out.make(block, [&](void* elements) {
          task.conv.run(byte_at(in, n * in_bytes_), slices_[task.slice].weight, elements);
        });
      }
    });
  }

 private:
  struct Slice {
    std::int64_t weight_at;  // bytes
    WeightCopy copy;
    void* weight = nullptr;  // of this run
  };
  struct Task {
    std::int64_t first, last;  // steps
    std::size_t slice;
    Block block;  // of the first step
    StagedConv conv;
  };
  std::vector<Slice> slices_;
  std::vector<Task> tasks_;
  std::int64_t in_bytes_;  // of one step
  std::int64_t out_size_;  // elements of one step
};

// Gradient of the weight: each thread sums over some examples for some channels of the output; then
// the sums are added in order.
class WeightGradient {
 public:
  WeightGradient(const ConvSizes& sizes, DType dtype) : dtype_(dtype), size_(sizes.weight_size()) {
    const ConvGrid grid = choose_conv_grid(sizes, ConvPart::weight);
    const Cut batch(sizes.batch, grid.batch), channels(sizes.out, grid.channels, kChannelGranule);
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    for (std::int64_t i = 0; i < batch.parts(); ++i) {
      for (std::int64_t c = 0; c < channels.parts(); ++c) {
        ConvSlice slice =
            slice_channels(sizes, ConvPart::weight, channels.first(c), channels.length_of(c));
        slice.sizes.batch = batch.length_of(i);
        tasks_.push_back(
            {.output_at = (batch.first(i) * sizes.output.example + slice.first_at) * bytes,
             .x_at = batch.first(i) * sizes.x.example * bytes,
             .sum_at = i * size_ + slice.result_at,
             .conv = {slice.sizes, ConvPart::weight, dtype, StagedConv::Weight::plain}});
      }
    }
    parts_ = batch.parts();
    if (parts_ > 1 || dtype != f32) {
      partial_ = Tensor::empty(f32, {parts_, size_});
    }
  }

  void run(const void* output, const void* x, const ProductTarget& weight) {
    weight.make({0, 1, size_, size_}, [&](void* elements) { sum_up(output, x, elements); });
  }

 private:
  void sum_up(const void* output, const void* x, void* weight) {
    float* const sums = partial_.defined() ? partial_.data<float>() : static_cast<float*>(weight);
    parallel_tasks(std::ssize(tasks_), [&](std::int64_t i) {
      Task& task = tasks_[static_cast<std::size_t>(i)];
      task.conv.run(byte_at(output, task.output_at), byte_at(x, task.x_at), sums + task.sum_at);
    });
    if (!partial_.defined()) {
      return;
    }
    if (dtype_ == f32) {
      add_partial_sums(sums, parts_, size_, static_cast<float*>(weight));
    } else {
      add_partial_sums(sums, parts_, size_, static_cast<bfloat16*>(weight));
    }
  }

  struct Task {
    std::int64_t output_at, x_at;  // bytes
    std::int64_t sum_at;           // elements
    StagedConv conv;
  };
  DType dtype_;
  std::int64_t size_, parts_;
  std::vector<Task> tasks_;
  Tensor partial_;
};

ConvFunction make(const ConvSizes& sizes, ConvPart part, DType dtype, bool apart) {
  const auto function = [](auto conv) {
    return [conv](const void* first, const void* second, const ProductTarget& result) {
      conv->run(first, second, result);
    };
  };
  return part == ConvPart::weight
             ? ConvFunction(function(std::make_shared<WeightGradient>(sizes, dtype)))
             : ConvFunction(function(std::make_shared<ExampleConv>(sizes, part, dtype, apart)));
}

bool has_brain_floats() {
  try {
    const Windows windows{{3}, {2}, {2}, {.stride = {1}, .padding = {0}, .dilation = {1}}};
    onednn::make_conv(ConvSizes::packed(1, 1, 1, 1, windows), ConvPart::weight, bf16);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

Support supports_onednn_convolution(Op op) {
  constexpr int kMostAxes = 3 + 2;  // spatial, batch and channels
  // What the processor can do does not change while the program runs.
  static const bool brain_floats = has_brain_floats();
  const DType dtype = op.input(0).dtype();
  if (dtype == f64) {
    return Support::no("oneDNN does not compute in f64");
  }
  if (dtype == bf16 && !brain_floats) {
    return Support::no("oneDNN has no bf16 on this processor");
  }
  return op.input(0).rank() <= kMostAxes ? Support{}
                                         : Support::no("oneDNN convolves over 3 axes at most");
}

ProductPlan plan_onednn_convolution(const KernelContext& context, ConvPart part, Destination to) {
#ifdef ANTICHAIN_HAS_BLAS
  // Decided here, by the sizes of the run: whether a size is a symbol must not change a bit.
  if (part == ConvPart::x && context.in(1).shape()[1] < kFewestInputChannels &&
      context.attr<std::int64_t>("groups") == 1) {
    return plan_column_conv(context, part, to);
  }
#endif
  // Version 2 has no f16 on CPUs, so those are computed as f32.
  const DType dtype = context.in(0).dtype() == f16 ? f32 : context.in(0).dtype();
  return plan_conv(
      context, part, dtype,
      [part, dtype](const ConvSizes& sizes, bool apart) { return make(sizes, part, dtype, apart); },
      to);
}

void add_onednn_kernel(std::vector<ProductKernel>& products, const OpDef& def, ConvPart part) {
  products.push_back({.name = "onednn convolution",
                      .def = &def,
                      .supports = supports_onednn_convolution,
                      .plan = [part](const KernelContext& context, Destination to) {
                        return plan_onednn_convolution(context, part, to);
                      }});
}

}  // namespace

void add_onednn_convolution(std::vector<ProductKernel>& products) {
  add_onednn_kernel(products, conv_def(), ConvPart::output);
  add_onednn_kernel(products, conv_input_gradient_def(), ConvPart::x);
  add_onednn_kernel(products, conv_transpose_def(), ConvPart::x);
  add_onednn_kernel(products, conv_weight_gradient_def(), ConvPart::weight);
}

double onednn_channels_last_gain(Op op) {
  // Training ResNet-18 with channels last takes 3 to 5 % less time, in f32 and in bf16
  // (bench_passes): about this part of what it would take to transpose all that it convolves.
  constexpr double kGain = 0.4;
  if (std::ranges::count(convolution_family(), &op.def()) == 0 ||
      !supports_onednn_convolution(op).yes || op.input(0).dtype() == f16 ||
      op.attrs().get<std::int64_t>("groups") > 1) {
    return 0;
  }
  const auto is_wide = [](Var value) {
    const Dim channels = value.dim(1);
    return channels.is_constant() && channels.constant() >= kChannelGranule;
  };
  const bool is_weight = &op.def() == &conv_weight_gradient_def();
  return is_wide(op.input(0)) && is_wide(is_weight ? op.input(1) : op.output()) ? kGain : 0;
}

}  // namespace antichain::cpu
