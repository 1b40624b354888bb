#include "recipes/cost.h"

#include <vector>

#include "antichain/ops/op_cost.h"

namespace antichain {

void FlopCounter::ran(const OpEvent& event) {
  if (event.outputs.empty() || !event.outputs[0]->defined() || event.outputs[0]->numel() == 0) {
    return;
  }
  std::vector<Shape> inputs, outputs;
  for (const Tensor* input : event.inputs) {
    inputs.push_back(input->shape());
  }
  for (const Tensor* output : event.outputs) {
    outputs.push_back(output->shape());
  }
  flops_ += antichain::flops(event.op, inputs, outputs);
}

}  // namespace antichain
