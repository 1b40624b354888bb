// Results of a function of one value on a device; every run must have the bits of the first.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "antichain/session/session.h"

namespace antichain {

using Build = std::function<std::vector<Var>(Var x)>;

/// Runs by kernels first; a GPU records the second run and replays it in two others.
inline std::vector<Tensor> results_on(const std::string& device, const Tensor& x,
                                      const Build& build) {
  Session session({.device = device});
  Graph graph = session.graph();
  const Var input = graph.input("x", x.dtype(), {x.shape().begin(), x.shape().end()});
  const Executable run = session.compile(build(input));
  std::vector<Tensor> results = run({{"x", x}}).tensors();
  for (int i = 0; i < (device == "cpu" ? 1 : 3); ++i) {
    const std::vector<Tensor> again = run({{"x", x}}).tensors();
    for (std::size_t n = 0; n < results.size(); ++n) {
      EXPECT_TRUE(bit_equal(again[n], results[n])) << "run " << i + 2 << ", result " << n;
    }
  }
  return results;
}

}  // namespace antichain
