// What the tests of passes share.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "antichain/graph/verify.h"
#include "antichain/passes/pipeline.h"

namespace antichain {

/// Returns how many ops of the root region are needed for the values and of this kind.
std::size_t count_needed(const GraphCopy& copy, std::string_view op);

/// Returns how many ops run, bodies aside.
std::size_t num_needed(const GraphCopy& copy);

/// Returns values of a sine, of any shape and type.
Tensor wave(const Shape& shape, DType dtype = f32);

/// Copies what a value needs and applies one pass.
template <class PassFunction, class... Options>
GraphCopy apply_pass(PassFunction pass, Graph& graph, const std::vector<Var>& values,
                     const Options&... options) {
  GraphCopy copy = pass(copy_graph(graph, values, {}), options...);
  verify(*copy.graph);
  return copy;
}

}  // namespace antichain
