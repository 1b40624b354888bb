#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "antichain/backends/cpu/conv_plan.h"
#include "antichain/backends/cpu/onednn_kernels.h"
#include "antichain/backends/cpu/onednn_primitives.h"
#include "antichain/backends/cpu/parallel.h"
#include "antichain/backends/cpu/partial_sums.h"
#include "antichain/backends/cpu/thread_scratch.h"
#include "antichain/backends/cpu/work_blocks.h"
#include "antichain/ops/convolution.h"

namespace antichain::cpu {

namespace {

using onednn::Call;
using onednn::ConvCall;
using onednn::ConvLayouts;
using Layout = dnnl::memory::desc;

// What one thread works on stays in its second-level cache, in both layouts.
constexpr std::int64_t kStepBytes = 1 << 19;
// Each partial sum of the weight's gradient is as large as the weight.
constexpr std::int64_t kMostPartialSums = 16;

// A copy between a packed tensor and the layout that oneDNN computes in, where they differ.
class Staging {
 public:
  enum class Way { in, out };
  Staging(const Layout& packed, const Layout& best, Way way) {
    if (packed != best) {
      copy_ =
          way == Way::in ? onednn::make_reorder(packed, best) : onednn::make_reorder(best, packed);
      bytes_ = whole_cache_lines(best.get_size());
    }
  }
  bool needed() const { return copy_.has_value(); }
  std::size_t bytes() const { return bytes_; }  // that the staged tensor takes
  std::size_t scratch_bytes() const { return copy_ ? copy_->scratch_bytes() : 0; }
  void run(void* from, void* to, void* scratch) {
    copy_->run(std::array<void*, 2>{from, to}, scratch);
  }

 private:
  std::optional<Call> copy_;
  std::size_t bytes_ = 0;
};

// A convolution of some examples on packed tensors, by one thread at a time.
class StagedConv {
 public:
  // Takes a weight that is in oneDNN's layout already, if `own_weight`.
  StagedConv(const ConvSizes& sizes, ConvPart part, DType dtype, bool own_weight)
      : conv_(onednn::make_conv(sizes, part, dtype)) {
    ConvLayouts packed = onednn::packed_layouts(sizes, part, dtype);
    if (own_weight) {
      packed.weight = conv_.layouts.weight;
    }
    const auto add = [this](const Layout& from, const Layout& best, Staging::Way way) {
      staged_.emplace_back(from, best, way);
      staged_bytes_ += staged_.back().bytes();
      scratch_bytes_ = std::max(scratch_bytes_, staged_.back().scratch_bytes());
    };
    const ConvLayouts& best = conv_.layouts;
    using enum Staging::Way;
    switch (part) {
      case ConvPart::output:
        add(packed.x, best.x, in);
        add(packed.weight, best.weight, in);
        add(packed.output, best.output, out);
        break;
      case ConvPart::x:
        add(packed.output, best.output, in);
        add(packed.weight, best.weight, in);
        add(packed.x, best.x, out);
        break;
      case ConvPart::weight:
        add(packed.output, best.output, in);
        add(packed.x, best.x, in);
        add(packed.weight, best.weight, out);
        break;
    }
    scratch_bytes_ = std::max(scratch_bytes_, conv_.call.scratch_bytes());
  }

  const Layout& weight_layout() const { return conv_.layouts.weight; }

  void run(const void* first, const void* second, void* result) {
    std::byte* place = thread_scratch(staged_bytes_ + scratch_bytes_);
    std::byte* const scratch = place + staged_bytes_;
    const std::array<void*, 3> given = {const_cast<void*>(first), const_cast<void*>(second),
                                        result};
    std::array<void*, 3> used = given;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (staged_[i].needed()) {
        used[i] = place;
        place += staged_[i].bytes();
      }
    }
    for (const std::size_t i : {0, 1}) {
      if (staged_[i].needed()) {
        staged_[i].run(given[i], used[i], scratch);
      }
    }
    conv_.call.run(used, scratch);
    if (staged_[2].needed()) {
      staged_[2].run(used[2], result, scratch);
    }
  }

 private:
  ConvCall conv_;
  std::vector<Staging> staged_;
  std::size_t staged_bytes_ = 0, scratch_bytes_ = 0;
};

// The most examples that fit the cache, of those numbers that divide the batch: one primitive then
// serves all steps.
std::int64_t choose_step(const ConvSizes& sizes, DType dtype) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t fitting = kStepBytes / ((sizes.x_size() + sizes.output_size()) * bytes);
  std::int64_t step = std::clamp<std::int64_t>(fitting, 1, sizes.batch);
  while (sizes.batch % step != 0) {
    --step;
  }
  return step;
}

// Output, or gradient of x: each thread computes some examples, a cacheful at a time.
class ExampleConv {
 public:
  ExampleConv(const ConvSizes& sizes, ConvPart part, DType dtype) {
    ConvSizes step_sizes = sizes;
    step_sizes.batch = choose_step(sizes, dtype);
    const Cut cut(sizes.batch / step_sizes.batch, choose_batch_parts(sizes, sizes.batch));
    const auto step_bytes = step_sizes.batch * static_cast<std::int64_t>(size_of(dtype));
    in_bytes_ = step_bytes * (part == ConvPart::output ? sizes.x_size() : sizes.output_size());
    out_bytes_ = step_bytes * (part == ConvPart::output ? sizes.output_size() : sizes.x_size());
    for (std::int64_t i = 0; i < cut.parts(); ++i) {
      tasks_.push_back({cut.first(i), cut.first(i) + cut.length_of(i),
                        StagedConv(step_sizes, part, dtype, true)});
    }
    const Layout& best = tasks_[0].conv.weight_layout();
    const Layout packed = onednn::packed_layouts(sizes, part, dtype).weight;
    if (packed != best) {
      weight_copy_ = onednn::make_reorder(packed, best);
      weight_ = Tensor::empty(u8, {static_cast<std::int64_t>(best.get_size())});
    }
  }

  void run(const void* in, const void* weight, void* out) {
    void* used_weight = const_cast<void*>(weight);
    if (weight_copy_) {
      const std::array<void*, 2> from_to = {used_weight, weight_.raw()};
      weight_copy_->run(from_to, thread_scratch(weight_copy_->scratch_bytes()));
      used_weight = weight_.raw();
    }
    parallel_tasks(std::ssize(tasks_), [&](std::int64_t i) {
      Task& task = tasks_[static_cast<std::size_t>(i)];
      for (std::int64_t n = task.first; n < task.last; ++n) {
        task.conv.run(static_cast<const std::byte*>(in) + n * in_bytes_, used_weight,
                      static_cast<std::byte*>(out) + n * out_bytes_);
      }
    });
  }

 private:
  struct Task {
    std::int64_t first, last;  // steps
    StagedConv conv;
  };
  std::vector<Task> tasks_;
  std::int64_t in_bytes_, out_bytes_;  // of one step
  std::optional<Call> weight_copy_;
  Tensor weight_;
};

// Gradient of the weight: each thread sums over some examples; then the sums are added in order.
class WeightGradient {
 public:
  WeightGradient(const ConvSizes& sizes, DType dtype) : dtype_(dtype), size_(sizes.weight_size()) {
    const Cut cut(sizes.batch, choose_batch_parts(sizes, kMostPartialSums));
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    for (std::int64_t i = 0; i < cut.parts(); ++i) {
      ConvSizes part = sizes;
      part.batch = cut.length_of(i);
      tasks_.push_back({cut.first(i) * sizes.output_size() * bytes,
                        cut.first(i) * sizes.x_size() * bytes,
                        StagedConv(part, ConvPart::weight, dtype, false)});
    }
    if (needs_adding()) {
      partial_ = Tensor::empty(f32, {std::ssize(tasks_), size_});
    }
  }

  void run(const void* output, const void* x, void* weight) {
    float* const sums = needs_adding() ? partial_.data<float>() : static_cast<float*>(weight);
    parallel_tasks(std::ssize(tasks_), [&](std::int64_t i) {
      Task& task = tasks_[static_cast<std::size_t>(i)];
      task.conv.run(static_cast<const std::byte*>(output) + task.output,
                    static_cast<const std::byte*>(x) + task.x, sums + i * size_);
    });
    if (!needs_adding()) {
      return;
    }
    if (dtype_ == f32) {
      add_partial_sums(sums, std::ssize(tasks_), size_, static_cast<float*>(weight));
    } else {
      add_partial_sums(sums, std::ssize(tasks_), size_, static_cast<bfloat16*>(weight));
    }
  }

 private:
  struct Task {
    std::int64_t output, x;  // where its examples start, in bytes
    StagedConv conv;
  };
  bool needs_adding() const { return tasks_.size() > 1 || dtype_ != f32; }

  DType dtype_;
  std::int64_t size_;
  std::vector<Task> tasks_;
  Tensor partial_;
};

ConvFunction make(const ConvSizes& sizes, ConvPart part, DType dtype) {
  const auto function = [](auto conv) {
    return [conv](const void* first, const void* second, void* result) {
      conv->run(first, second, result);
    };
  };
  return part == ConvPart::weight
             ? ConvFunction(function(std::make_shared<WeightGradient>(sizes, dtype)))
             : ConvFunction(function(std::make_shared<ExampleConv>(sizes, part, dtype)));
}

bool has_brain_floats() {
  try {
    const Windows windows{{3}, {2}, {2}, {.stride = {1}, .padding = {0}, .dilation = {1}}};
    onednn::make_conv({.batch = 1, .groups = 1, .in = 1, .out = 1, .windows = windows},
                      ConvPart::weight, bf16);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

// Version 2 has no f16 on CPUs, so those are computed as f32.
Support supports(Op op) {
  constexpr int kMostAxes = 3 + 2;
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

void add_kernel(KernelTable& kernels, const OpDef& def, ConvPart part) {
  const auto plan = [part](const KernelContext& context) {
    const DType dtype = context.in(0).dtype() == f16 ? f32 : context.in(0).dtype();
    return plan_conv(context, part, dtype,
                     [part, dtype](const ConvSizes& sizes) { return make(sizes, part, dtype); });
  };
  kernels.add(def, {.name = "onednn convolution", .supports = supports, .plan = plan});
}

}  // namespace

void register_onednn_convolution(KernelTable& kernels) {
  add_kernel(kernels, conv_def(), ConvPart::output);
  add_kernel(kernels, conv_input_gradient_def(), ConvPart::x);
  add_kernel(kernels, conv_transpose_def(), ConvPart::x);
  add_kernel(kernels, conv_weight_gradient_def(), ConvPart::weight);
}

}  // namespace antichain::cpu
