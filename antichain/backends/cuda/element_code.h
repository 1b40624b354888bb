// Element-wise ops as CUDA C++.
#pragma once

#include <span>
#include <string>

#include "antichain/graph/graph.h"

namespace antichain::cuda {

/// Returns the C++ type of an element in memory: "float", "bf16".
std::string_view storage_type(DType dtype);
/// Returns "ReluGradient" for "relu_gradient": functors are called as their ops are.
std::string camel_case(std::string_view name);
/// Returns what computes an element of the op's output from those of its inputs, rounded as if it
/// were stored.
std::string element_code(Op op, std::span<const std::string> operands);
/// Returns a number of one element as a literal of the type that it is computed in.
std::string number_code(const Tensor& number);

}  // namespace antichain::cuda
