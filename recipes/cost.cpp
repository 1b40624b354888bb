#include "recipes/cost.h"

#include "antichain/ops/convolution.h"
#include "antichain/ops/matmul.h"

namespace antichain {

namespace {

double elements(const Tensor& tensor) { return static_cast<double>(tensor.numel()); }

// Every element of the product is a sum over the axis that both factors share: its length is the
// number of elements of a over the rows of a.
double matmul_flops(const OpEvent& event) {
  const Tensor &a = *event.inputs[0], &out = *event.outputs[0];
  const std::size_t rank = a.shape().size();
  const bool transposed = event.op.attrs().get<bool>("transpose_a");
  const auto depth = static_cast<double>(a.shape()[transposed ? rank - 2 : rank - 1]);
  return 2 * elements(out) * depth;
}

// Of a convolution x * w -> y, forwards or one of its gradients: each element of y meets the
// weights of one output channel.
double conv_flops(const Tensor& y, const Tensor& weight) {
  return 2 * elements(y) * elements(weight) / static_cast<double>(weight.shape()[0]);
}

}  // namespace

void FlopCounter::ran(const OpEvent& event) {
  const OpDef* def = &event.op.def();
  if (event.outputs.empty() || !event.outputs[0]->defined() || event.outputs[0]->numel() == 0) {
    return;
  }
  if (def == &matmul_def()) {
    flops_ += matmul_flops(event);
  } else if (def == &conv_def()) {
    flops_ += conv_flops(*event.outputs[0], *event.inputs[1]);
  } else if (def == &conv_input_gradient_def()) {
    flops_ += conv_flops(*event.inputs[0], *event.inputs[1]);
  } else if (def == &conv_weight_gradient_def()) {
    flops_ += conv_flops(*event.inputs[0], *event.outputs[0]);
  }
}

}  // namespace antichain
