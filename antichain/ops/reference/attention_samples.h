// Uses of attention for the conformance suites.
#pragma once

#include <vector>

#include "antichain/graph/op_def.h"

namespace antichain {

std::vector<Sample> attention_samples();
std::vector<Sample> attention_gradient_samples();

}  // namespace antichain
