#include "antichain/ops/reference/convolution_reference.h"

#include "antichain/ops/reference/compute.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain {

namespace {

// Calls f with the indices (in x, weight, output) of every product x * weight that a convolution
// adds to an output. Only the shapes of the tensors are used.
template <class F>
void for_each_product(const KernelContext& context, const Tensor& x, const Tensor& weight,
                      const Tensor& output, F&& f) {
  const AxisOrder order = AxisOrder::of(*context.attrs);
  const Windows windows{order.spatial(x.shape()), spatial_axes(weight.shape()),
                        order.spatial(output.shape()), WindowSteps::of(*context.attrs)};
  const std::int64_t batch = x.shape()[0], in_channels = order.channels(x.shape());
  const std::int64_t out_channels = order.channels(output.shape());
  const std::int64_t group_inputs = weight.shape()[1];
  const std::int64_t group_outputs = out_channels / context.attr<std::int64_t>("groups");
  const std::int64_t in_size = numel(windows.input), out_size = numel(windows.output);
  const std::int64_t window_size = numel(windows.window);
  for_each_tap(windows, [&](std::int64_t out_at, std::int64_t in_at, std::int64_t window_at) {
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t out = 0; out < out_channels; ++out) {
        const std::int64_t first_input = out / group_outputs * group_inputs;
        for (std::int64_t in = 0; in < group_inputs; ++in) {
          f(order.index(n, first_input + in, in_channels, in_at, in_size),
            static_cast<std::size_t>((out * group_inputs + in) * window_size + window_at),
            order.index(n, out, out_channels, out_at, out_size));
        }
      }
    }
  });
}

std::vector<double> zeros_for(const Tensor& tensor) {
  return std::vector<double>(static_cast<std::size_t>(tensor.numel()));
}

}  // namespace

void conv_reference(KernelContext& context) {
  const Tensor &x = context.in(0), &weight = context.in(1), &output = context.out();
  const std::vector<double> xs = load<double>(x), weights = load<double>(weight);
  std::vector<double> result = zeros_for(output);
  for_each_product(context, x, weight, output, [&](std::size_t in, std::size_t w, std::size_t out) {
    result[out] += xs[in] * weights[w];
  });
  store(result, output);
}

void conv_input_gradient_reference(KernelContext& context) {
  const Tensor &output = context.in(0), &weight = context.in(1), &x = context.out();
  const std::vector<double> grads = load<double>(output), weights = load<double>(weight);
  std::vector<double> result = zeros_for(x);
  for_each_product(context, x, weight, output, [&](std::size_t in, std::size_t w, std::size_t out) {
    result[in] += grads[out] * weights[w];
  });
  store(result, x);
}

void conv_weight_gradient_reference(KernelContext& context) {
  const Tensor &output = context.in(0), &x = context.in(1), &weight = context.out();
  const std::vector<double> grads = load<double>(output), xs = load<double>(x);
  std::vector<double> result = zeros_for(weight);
  for_each_product(context, x, weight, output, [&](std::size_t in, std::size_t w, std::size_t out) {
    result[w] += grads[out] * xs[in];
  });
  store(result, weight);
}

}  // namespace antichain
