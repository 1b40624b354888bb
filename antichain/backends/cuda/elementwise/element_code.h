// Element-wise ops as CUDA C++.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "antichain/graph/graph.h"

namespace antichain::cuda {

/// Returns the C++ type of an element in memory: "float", "bf16".
std::string_view storage_type(DType dtype);
/// Returns "ReluGradient" for "relu_gradient": functors are called as their ops are.
std::string camel_case(std::string_view name);

/// Names in the code of values that ops read.
using ValueNames = std::unordered_map<VarId, std::string>;
/// Returns what computes an element of the op's output from those of its inputs, rounded as if it
/// were stored; a number as a literal. With `contract`, what adds to a product in the same body may
/// round once: the names of the product's factors are in sight then, too.
std::string element_code(Op op, const ValueNames& names, bool contract = false);

}  // namespace antichain::cuda
