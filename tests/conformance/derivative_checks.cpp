#include "tests/conformance/derivative_checks.h"

#include <gtest/gtest.h>

#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/sample_case.h"

namespace antichain::conformance {

namespace {

constexpr double kStep = 1e-5;  // balances truncation (step squared) and rounding (1e-16 / step)
constexpr double kTolerance = 2e-7;  // relative to the largest element

Tensor random_like(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> draw(0.3, 1.7);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = draw(generator) * (generator() % 2 ? 1 : -1);
  }
  return Tensor::of<double>(shape, values);
}

// Sum of all values, each weighted by a given tensor.
Var weighted_sum(const std::vector<Var>& values, const std::vector<Var>& weights) {
  Var total = scalar(values[0].graph(), f64, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    total = total + sum(values[i] * weights[i]);
  }
  return total;
}

// d target / d input by central differences; target is a scalar.
Tensor central_difference(SampleCase& sample, Var target, std::size_t input) {
  Executable executable = sample.session().compile({target});
  executable.set_print_line([](std::string_view) {});
  const Tensor& base = sample.values()[input];
  Tensor result = Tensor::empty(f64, base.shape());
  for (std::int64_t i = 0; i < base.numel(); ++i) {
    double side[2];
    for (int direction : {0, 1}) {
      const Tensor moved = base.clone();
      moved.data<double>()[i] += direction ? kStep : -kStep;
      side[direction] = executable(sample.feeds(input, moved)).item<double>();
    }
    result.data<double>()[i] = (side[1] - side[0]) / (2 * kStep);
  }
  return result;
}

struct DerivativeCase {
  SampleCase sample;
  std::vector<std::size_t> xs;  // positions of the float64 inputs
  std::vector<Var> x_vars, ys, weights;

  explicit DerivativeCase(const Sample& source) : sample(source, f64) {
    for (std::size_t i = 0; i < sample.inputs().size(); ++i) {
      if (sample.inputs()[i].dtype() == f64) {
        xs.push_back(i);
        x_vars.push_back(sample.inputs()[i]);
      }
    }
    const std::vector<Var> outputs = sample.outputs();
    const std::vector<Tensor> values = sample.evaluate(outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].dtype() == f64) {
        ys.push_back(outputs[i]);
        weights.push_back(
            sample.add_input("weight" + std::to_string(i), random_like(values[i].shape(), 17 + i)));
      }
    }
  }
  bool usable() const { return !xs.empty() && !ys.empty(); }
};

void check_vjp(DerivativeCase& test, const std::vector<Var>& grads, CaseLog& log) {
  const Var target = weighted_sum(test.ys, test.weights);
  const std::vector<Tensor> got = test.sample.evaluate(grads);
  for (std::size_t i = 0; i < test.xs.size(); ++i) {
    expect_close(got[i], central_difference(test.sample, target, test.xs[i]), kTolerance,
                 "vjp, input " + std::to_string(test.xs[i]));
  }
  log.ran("vjp against finite differences");
}

// <weights, J t> must equal <J' weights, t>, and J t must be the slope along t.
void check_jvp(DerivativeCase& test, const std::vector<Var>& grads, CaseLog& log) {
  std::vector<Var> tangents;
  for (std::size_t i = 0; i < test.xs.size(); ++i) {
    tangents.push_back(
        test.sample.add_input("tangent" + std::to_string(i),
                              random_like(test.sample.values()[test.xs[i]].shape(), 91 + i)));
  }
  const std::vector<Var> moved = jvp(test.ys, test.x_vars, tangents);
  const std::vector<Tensor> sides =
      test.sample.evaluate({weighted_sum(moved, test.weights), weighted_sum(grads, tangents)});
  expect_close(sides[0], sides[1], 1e-11, "jvp against vjp");
  log.ran("jvp against vjp");

  // Along the line x + s t, the slope of every output at s = 0.
  Executable executable = test.sample.session().compile(test.ys);
  executable.set_print_line([](std::string_view) {});
  const std::vector<Tensor> got = test.sample.evaluate(moved);
  std::vector<std::vector<Tensor>> sides_of_ys;
  for (const double step : {-kStep, kStep}) {
    Feeds feeds = test.sample.feeds();
    for (std::size_t i = 0; i < test.xs.size(); ++i) {
      const Tensor shifted = test.sample.values()[test.xs[i]].clone();
      const std::vector<double> direction =
          feeds.at("tangent" + std::to_string(i)).to_vector<double>();
      for (std::size_t n = 0; n < direction.size(); ++n) {
        shifted.data<double>()[n] += step * direction[n];
      }
      feeds[test.x_vars[i].name()] = shifted;
    }
    sides_of_ys.push_back(executable(feeds).tensors());
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::vector<double> low = sides_of_ys[0][i].to_vector<double>(),
                              high = sides_of_ys[1][i].to_vector<double>();
    std::vector<double> slope(low.size());
    for (std::size_t n = 0; n < slope.size(); ++n) {
      slope[n] = (high[n] - low[n]) / (2 * kStep);
    }
    expect_close(got[i], Tensor::of<double>(got[i].shape(), slope), kTolerance,
                 "jvp, output " + std::to_string(i));
  }
  log.ran("jvp against finite differences");
}

void check_second_order(DerivativeCase& test, const std::vector<Var>& grads, CaseLog& log) {
  std::vector<Var> directions;
  for (std::size_t i = 0; i < test.xs.size(); ++i) {
    directions.push_back(
        test.sample.add_input("direction" + std::to_string(i),
                              random_like(test.sample.values()[test.xs[i]].shape(), 53 + i)));
  }
  const Var target = weighted_sum(grads, directions);
  // With respect to the inputs and to the output gradients, in which a vjp is linear.
  std::vector<Var> variables = test.x_vars;
  variables.insert(variables.end(), test.weights.begin(), test.weights.end());
  const std::vector<Tensor> got =
      test.sample.evaluate(grad(target, variables, {.zero_if_unused = true}));
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& inputs = test.sample.inputs();
    const auto position = static_cast<std::size_t>(
        std::find(inputs.begin(), inputs.end(), variables[i]) - inputs.begin());
    expect_close(got[i], central_difference(test.sample, target, position), kTolerance,
                 "vjp of vjp with respect to " + variables[i].name());
  }
  log.ran("vjp of vjp against finite differences");
}

}  // namespace

bool has_derivative(const OpDef& def) { return def.vjp || def.decompose; }

void check_derivatives(const OpDef& def, const Sample& sample, CaseLog& log) {
  DerivativeCase test(sample);
  if (!test.usable()) {
    log.refused("derivatives", def.name, "sample has no float64 input or output");
    return;
  }
  const std::vector<Var> grads = vjp(test.ys, test.weights, test.x_vars, {.zero_if_unused = true});
  check_vjp(test, grads, log);
  check_jvp(test, grads, log);
  check_second_order(test, grads, log);
}

void check_refuses_gradient(const OpDef& def, const Sample& sample, CaseLog& log) {
  ASSERT_FALSE(def.no_gradient.empty()) << def.name << " has neither a derivative nor a reason";
  log.refused("derivatives", def.name, def.no_gradient);
  DerivativeCase test(sample);
  for (Var x : test.x_vars) {
    // An integer result cannot be differentiated at all; a float one refuses with the op's own
    // reason.
    const Var y = test.ys.empty() ? cast(test.sample.outputs()[0], f64) : test.ys[0];
    try {
      grad(y, x);
      ADD_FAILURE() << def.name << " gives a gradient although it says: " << def.no_gradient;
    } catch (const InvalidArgument& error) {
      const std::string reason = error.what();
      // An op without inputs is not in the way: there is no way.
      EXPECT_TRUE(reason.find(def.no_gradient) != std::string::npos ||
                  reason.find("does not depend") != std::string::npos)
          << reason;
    }
    log.ran("refusal of a gradient");
  }
}

}  // namespace antichain::conformance
