// What the tests of passes share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string_view>

#include "antichain/graph/verify.h"
#include "antichain/passes/pipeline.h"
#include "antichain/session/session.h"

namespace antichain {

/// Returns how many ops of the root region are needed for the values and of this kind.
std::size_t count_needed(const GraphCopy& copy, std::string_view op);

/// Returns how many ops run, bodies aside.
std::size_t num_needed(const GraphCopy& copy);

/// Returns values of a sine, of any shape and type.
Tensor wave(const Shape& shape, DType dtype = f32);

/// Expects f32 values to be the same, but for rounding, with and without a pass for devices that
/// want few kernels. Inputs are waves; sizes that are symbols are all of this size.
void expect_equal_values(std::string_view pass,
                         const std::function<std::vector<Var>(Graph& graph)>& build,
                         std::int64_t symbols, const SessionOptions& options = {});

/// Copies what a value needs and applies one pass.
template <class PassFunction, class... Options>
GraphCopy apply_pass(PassFunction pass, Graph& graph, const std::vector<Var>& values,
                     const Options&... options) {
  GraphCopy copy = pass(copy_graph(graph, values, {}), options...);
  verify(*copy.graph);
  return copy;
}

}  // namespace antichain
