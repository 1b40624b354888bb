// Element-wise ops as LLVM code: one loop over packed elements, in which values pass in registers.
//
// The code is text, so that it can be read (`antichain explain --code`) and that its hash names
// what was compiled from it. It computes the bits that the loops of simd/ compute: no reordering,
// bf16 rounded after every op, no contraction unless the op allows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain::cpu {

/// Computes `count` elements of packed outputs from packed inputs, behind which `in` points at the
/// numbers that are given to the code (given_numbers). An output may be the memory of an input,
/// element for element.
using ClusterLoop = void (*)(const void* const* in, void* const* out, std::int64_t count);

/// Ops in order that are computed in one loop.
struct Cluster {
  struct Step {
    Op op;
    std::vector<int> operands;  // numbers of values: inputs, then numbers, then results of steps
    bool is_output = false;
  };
  std::vector<DType> inputs;
  std::vector<Tensor> numbers;  // of one element
  std::vector<Step> steps;
  bool contract = false;  // a * b + c may be rounded once
};

inline constexpr const char* kClusterFunction = "cluster";

/// Returns a module with one function, kClusterFunction, of the type ClusterLoop. Numbers that make
/// it faster, such as powers of two, are part of it.
std::string cluster_code(const Cluster& cluster);
/// Returns the other numbers: ops that differ in them alone have the same code.
std::vector<double> given_numbers(const Cluster& cluster);

}  // namespace antichain::cpu
