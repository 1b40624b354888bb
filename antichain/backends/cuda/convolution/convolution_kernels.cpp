#include "antichain/backends/cuda/convolution/convolution_kernels.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>

#include "antichain/backends/cuda/convolution/cudnn_convolution.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain::cuda {

namespace {

constexpr std::size_t kFewestSpatialAxes = 2;  // of the library; fewer get axes of size 1 in front

constexpr std::int64_t kCudnnAlignment = 16;  // bytes; more is no use to the library

// Sizes and strides in the order [n, c, spatial...], with at least two spatial axes.
ConvTensor conv_tensor(const Tensor& tensor, bool channels_last) {
  ConvTensor result{tensor.shape(), contiguous_strides(tensor.shape())};
  if (channels_last) {
    for (Ints* entries : {&result.sizes, &result.strides}) {
      std::rotate(entries->begin() + 1, entries->end() - 1, entries->end());
    }
  }
  while (result.sizes.size() < 2 + kFewestSpatialAxes) {
    result.sizes.insert(result.sizes.begin() + 2, 1);
    result.strides.insert(result.strides.begin() + 2, result.strides[1]);
  }
  return result;
}

Ints with_axes_in_front(Ints entries, std::int64_t value) {
  entries.insert(entries.begin(), kFewestSpatialAxes - std::min(entries.size(), kFewestSpatialAxes),
                 value);
  return entries;
}

const Tensor& tensor(const KernelContext& context, int input) {
  return input < 0 ? context.out() : context.in(input);
}

// The places of x, weight and output among an op's inputs; the result is none.
struct Operands {
  int x, weight, output;
};
Operands operands_of(ConvResult result) {
  switch (result) {
    case ConvResult::output: return {0, 1, -1};
    case ConvResult::x: return {-1, 1, 0};
    case ConvResult::weight: break;
  }
  return {1, -1, 0};
}

// A convolution that is planned for addresses as they are expected, and again when they turn out to
// be less even: those of results that a caller has memory for, for example.
class ConvolutionAnywhere {
 public:
  ConvolutionAnywhere(std::shared_ptr<const CudnnLibrary> library, ConvProblem problem)
      : library_(std::move(library)),
        problem_(std::move(problem)),
        even_(std::make_unique<CudnnConvolution>(library_, problem_)) {}

  void run(const void* x, const void* weight, const void* output) {
    const auto fits = [&](const void* address) {
      return reinterpret_cast<std::uintptr_t>(address) %
                 static_cast<std::uintptr_t>(problem_.alignment) ==
             0;
    };
    if (fits(x) && fits(weight) && fits(output)) {
      even_->run(x, weight, output);
      return;
    }
    if (uneven_ == nullptr) {
      ConvProblem problem = problem_;
      problem.alignment = static_cast<std::int64_t>(size_of(problem.dtype));
      uneven_ = std::make_unique<CudnnConvolution>(library_, problem);
    }
    uneven_->run(x, weight, output);
  }

 private:
  std::shared_ptr<const CudnnLibrary> library_;
  ConvProblem problem_;
  std::unique_ptr<const CudnnConvolution> even_, uneven_;
};

KernelFunction plan_convolution(const KernelContext& context,
                                const std::shared_ptr<CudnnLibrary>& library, ConvResult result) {
  const Operands operands = operands_of(result);
  const bool last = context.attr<bool>("channels_last");
  const auto [stride, padding, dilation] = WindowSteps::of(*context.attrs);
  const Tensor& out = context.out();
  const bool is_empty = tensor(context, operands.x).numel() == 0 ||
                        tensor(context, operands.weight).numel() == 0 ||
                        tensor(context, operands.output).numel() == 0;
  if (out.numel() == 0) {
    return [](KernelContext&) {};
  }
  if (is_empty) {
    return [library](KernelContext& run) {
      library->context()->fill(run.out().raw(), 0, run.out().bytes());
    };
  }
  ConvProblem problem{.result = result,
                      .dtype = out.dtype(),
                      .x = conv_tensor(tensor(context, operands.x), last),
                      .weight = conv_tensor(tensor(context, operands.weight), false),
                      .output = conv_tensor(tensor(context, operands.output), last),
                      .stride = with_axes_in_front(stride, 1),
                      .padding = with_axes_in_front(padding, 0),
                      .dilation = with_axes_in_front(dilation, 1),
                      .alignment = kCudnnAlignment};
  for (const int operand : {operands.x, operands.weight, operands.output}) {
    const Tensor& part = tensor(context, operand);
    problem.alignment = std::gcd(problem.alignment,
                                 part.offset() * static_cast<std::int64_t>(size_of(part.dtype())));
  }
  const auto convolution = std::make_shared<ConvolutionAnywhere>(library, std::move(problem));
  return [convolution, operands](KernelContext& run) {
    convolution->run(tensor(run, operands.x).raw(), tensor(run, operands.weight).raw(),
                     tensor(run, operands.output).raw());
  };
}

Support supports_convolution(Op op) {
  constexpr int kMostAxes = 2 + 3;
  return op.input(0).rank() <= kMostAxes ? Support{}
                                         : Support::no("cuDNN convolves over 3 axes at most");
}

}  // namespace

void register_convolution(KernelTable& kernels, const Context& context, bool tf32) {
  const auto library = std::make_shared<CudnnLibrary>(context, tf32);
  const auto add = [&](const OpDef& def, ConvResult result) {
    kernels.add(def, {.name = "cudnn convolution",
                      .supports = supports_convolution,
                      .plan = [library, result](const KernelContext& seen) {
                        return plan_convolution(seen, library, result);
                      }});
  };
  add(conv_def(), ConvResult::output);
  add(conv_input_gradient_def(), ConvResult::x);
  add(conv_transpose_def(), ConvResult::x);
  add(conv_weight_gradient_def(), ConvResult::weight);
}

}  // namespace antichain::cuda
