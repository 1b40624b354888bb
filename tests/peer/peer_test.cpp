// Every case of values.json: outputs, gradients, gradients of gradients and forward derivatives of
// the reference kernels agree with PyTorch in float64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/session/session.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

const Builders& all_builders() {
  static const Builders table = [] {
    Builders all;
    for (Builders part :
         {elementwise_builders(), reduction_builders(), moving_builders(), indexing_builders(),
          layer_builders(), nn_builders(), recurrent_builders(), attention_builders(),
          control_flow_builders(), derivative_builders(), optimiser_builders()}) {
      all.merge(part);
    }
    return all;
  }();
  return table;
}

namespace {

// A value of ours with what it is to be.
struct Expectation {
  std::string what;
  Var value;
  Tensor expected;
  bool derivative = true;
};

Vars only_floats(const Vars& vars) {
  Vars result;
  std::copy_if(vars.begin(), vars.end(), std::back_inserter(result),
               [](Var var) { return is_float(var.dtype()); });
  return result;
}

// The weights that the peer uses for vars of the shapes of `like`.
Vars weights_of(const Vars& vars, const std::vector<Tensor>& like) {
  Vars result;
  for (const Tensor& tensor : like) {
    if (is_float(tensor.dtype())) {
      const auto number = static_cast<std::int64_t>(result.size());
      result.push_back(constant(vars.at(0).graph(), weights(tensor.shape(), number)));
    }
  }
  return result;
}

void expect_all(std::vector<Expectation>& all, const std::string& what, const Vars& values,
                const std::vector<Tensor>& expected) {
  require(values.size() == expected.size(), "{} {}s instead of PyTorch's {}", values.size(), what,
          expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    all.push_back({fmt::format("{} {}", what, i), values[i], expected[i], what != "output"});
  }
}

// sum(weights · (J t)) = sum((Jᵀ weights) · t): the peer's gradients also tell a forward
// derivative.
Expectation forward_derivative(const Vars& xs, const Vars& ys, const Vars& y_weights,
                               const std::vector<Tensor>& grads) {
  const Vars tangents = weights_of(xs, grads);
  const Vars moved = jvp(ys, xs, tangents);
  Var total;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const Var part = sum(moved[i] * y_weights[i]);
    total = total.valid() ? total + part : part;
  }
  double expected = 0;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const auto grad = grads[i].to_vector<double>();
    const auto tangent =
        weights(grads[i].shape(), static_cast<std::int64_t>(i)).to_vector<double>();
    for (std::size_t j = 0; j < grad.size(); ++j) {
      expected += grad[j] * tangent[j];
    }
  }
  return {"forward derivative", total, Tensor::scalar(expected)};
}

bool all_finite(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    for (const double value : tensor.to_vector<double>()) {
      if (!std::isfinite(value)) {
        return false;
      }
    }
  }
  return true;
}

std::vector<Expectation> build(const Case& c, const Vars& inputs) {
  std::vector<Expectation> result;
  const Vars outputs = all_builders().at(c.op)(c, inputs);
  expect_all(result, "output", outputs, c.outputs);
  if (c.grads.empty()) {
    return result;
  }
  const Vars xs = only_floats(inputs), ys = only_floats(outputs);
  const Vars y_weights = weights_of(ys, c.outputs);
  const Vars grads = vjp(ys, y_weights, xs, {.zero_if_unused = true});
  expect_all(result, "gradient", grads, c.grads);
  if (all_finite(c.grads)) {
    result.push_back(forward_derivative(xs, ys, y_weights, c.grads));
  }
  if (!c.second.empty()) {
    const Vars again = vjp(grads, weights_of(grads, c.grads), xs, {.zero_if_unused = true});
    expect_all(result, "second gradient", again, c.second);
  }
  return result;
}

// Returns what differs, in one line.
std::string check(const Case& c, int level) {
  Session session;
  Graph graph = session.graph();
  Vars inputs;
  Feeds feeds;
  for (const Tensor& tensor : c.inputs) {
    const std::string name = fmt::format("x{}", inputs.size());
    const std::vector<DimSpec> shape(tensor.shape().begin(), tensor.shape().end());
    inputs.push_back(graph.input(name, tensor.dtype(), shape));
    feeds.emplace(name, tensor);
  }
  const std::vector<Expectation> expectations = build(c, inputs);
  Vars values;
  for (const Expectation& expectation : expectations) {
    values.push_back(expectation.value);
  }
  const Results results = session.compile(values, {.compiler = {.level = level}})(feeds);
  std::string failures;
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const auto& [what, value, expected, derivative] = expectations[i];
    const std::string found = difference(results[i], expected, derivative);
    if (!found.empty()) {
      failures += fmt::format("; {} {}", what, found);
    }
  }
  return failures;
}

class Peer : public testing::TestWithParam<std::string> {};

TEST_P(Peer, Agrees) {
  int found = 0;
  for (const Case& c : all_cases()) {
    if (c.op != GetParam()) {
      continue;
    }
    ++found;
    for (const int level : {2, 0}) {
      std::string failures;
      try {
        failures = check(c, level);
      } catch (const std::exception& error) {
        failures = fmt::format("; {}", error.what());
      }
      EXPECT_TRUE(failures.empty()) << c.op << " '" << c.label << "'"
                                    << ", level " << level << failures;
    }
  }
  EXPECT_GT(found, 0) << "values.json has no case of " << GetParam();
}

std::vector<std::string> ops() {
  std::vector<std::string> names;
  for (const auto& [name, builder] : all_builders()) {
    names.push_back(name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Ops, Peer, testing::ValuesIn(ops()),
                         [](const auto& op) { return op.param; });

TEST(PeerValues, HaveABuilder) {
  for (const Case& c : all_cases()) {
    EXPECT_TRUE(all_builders().contains(c.op)) << c.op << " '" << c.label << "'";
  }
}

}  // namespace

}  // namespace antichain::peer
