// Small uses of convolution and its gradients, for conformance tests.
#pragma once

#include "antichain/graph/op_def.h"

namespace antichain {

std::vector<Sample> conv_samples();
std::vector<Sample> conv_input_gradient_samples();
std::vector<Sample> conv_weight_gradient_samples();
std::vector<Sample> conv_transpose_samples();

}  // namespace antichain
