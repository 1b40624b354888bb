// The oracle of the derivative tests: central differences in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/session/session.h"

namespace antichain {

/// Builds a value from f64 inputs.
using Build = std::function<Var(Graph& graph, const std::vector<Var>& inputs)>;

struct DifferenceOptions {
  std::string engine = {};  // who differentiates; empty: back-propagation
  double step = 1e-5;       // the error of a central difference grows with its square
  double tolerance = 1e-7;  // relative to the larger of 1 and the value
  bool forward = true;      // check jvp as well
};

/// Returns f64 values within [low, high), the same for the same seed.
inline Tensor random_values(Shape shape, std::uint64_t seed, double low = -1, double high = 1) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> draw(low, high);
  Tensor result = Tensor::empty(DType::f64, std::move(shape));
  std::generate_n(result.data<double>(), result.numel(), [&] { return draw(engine); });
  return result;
}

/// Returns the partial derivatives of `f` with respect to every element of every point.
inline std::vector<std::vector<double>> central_differences(
    const std::function<double(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& at,
    double step) {
  std::vector<std::vector<double>> result;
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> slopes;
    for (std::int64_t n = 0; n < at[i].numel(); ++n) {
      const auto moved = [&](double by) {
        std::vector<Tensor> point = at;
        point[i] = at[i].clone();
        point[i].data<double>()[n] += by;
        return f(point);
      };
      slopes.push_back((moved(step) - moved(-step)) / (2 * step));
    }
    result.push_back(std::move(slopes));
  }
  return result;
}

inline void expect_close(double found, double expected, double tolerance, const std::string& what) {
  EXPECT_LE(std::abs(found - expected), tolerance * std::max(1.0, std::abs(expected)))
      << what << ": found " << found << ", expected " << expected;
}

inline Feeds feed(const std::vector<Tensor>& at) {
  Feeds feeds;
  for (std::size_t i = 0; i < at.size(); ++i) {
    feeds.emplace("x" + std::to_string(i), at[i]);
  }
  return feeds;
}

/// Makes inputs x0, x1, … of the tensors' shapes.
inline std::vector<Var> inputs_like(Graph& graph, const std::vector<Tensor>& at) {
  std::vector<Var> inputs;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Dims dims = to_dims(at[i].shape());
    inputs.push_back(graph.input("x" + std::to_string(i), DType::f64, {dims.begin(), dims.end()}));
  }
  return inputs;
}

/// Returns a sum in which elements have different weights, so that errors do not cancel.
inline Var weighted_sum(Var y) {
  const Var weights = cos(iota(y.graph(), DType::f64, numel(y.shape()))) + 1.5;
  return sum(reshape(y, {numel(y.shape())}) * weights);
}

/// Checks grad() and jvp() of what `build` makes at this point.
inline void expect_gradients(const Build& build, const std::vector<Tensor>& at,
                             const DifferenceOptions& options = {}) {
  Session session;
  Graph graph = session.graph();
  const std::vector<Var> inputs = inputs_like(graph, at);
  const Var target = weighted_sum(build(graph, inputs));
  std::vector<Var> outputs = grad(target, inputs, {.engine = options.engine});
  std::vector<Tensor> directions;
  if (options.forward) {
    std::vector<Var> tangents;
    for (std::size_t i = 0; i < at.size(); ++i) {
      directions.push_back(random_values(at[i].shape(), 1000 + i));
      tangents.push_back(constant(graph, directions.back()));
    }
    outputs.push_back(jvp({target}, inputs, tangents)[0]);
  }
  const Executable value = session.compile({target}), derivatives = session.compile(outputs);
  const Results found = derivatives(feed(at));
  const auto expected = central_differences(
      [&](const std::vector<Tensor>& point) { return value(feed(point)).item<double>(); }, at,
      options.step);
  double slope = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    ASSERT_EQ(found[i].shape(), at[i].shape());
    const std::vector<double> gradient = found[i].to_vector<double>();
    for (std::size_t n = 0; n < gradient.size(); ++n) {
      expect_close(gradient[n], expected[i][n], options.tolerance,
                   "input " + std::to_string(i) + ", element " + std::to_string(n));
      slope += options.forward ? expected[i][n] * directions[i].data<double>()[n] : 0;
    }
  }
  if (options.forward) {
    expect_close(found[at.size()].item<double>(), slope, options.tolerance, "forward mode");
  }
}

}  // namespace antichain
