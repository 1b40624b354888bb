// Ops for many runs at once: every sample of the catalogue gives what the runs give one by one.
#include "antichain/passes/chains/stacked_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/sample_case.h"

namespace antichain::stacked_ops_test {

constexpr std::int64_t kRuns = 3;

// The runs' values of an input: integers as they are, since they may be indices, floats changed a
// little, which keeps them in their domain.
std::vector<Tensor> values_of_runs(const Tensor& value) {
  std::vector<Tensor> runs;
  for (std::int64_t run = 0; run < kRuns; ++run) {
    const Tensor own = value.clone();
    if (own.dtype() == f64) {
      for (std::int64_t i = 0; i < own.numel(); ++i) {
        own.data<double>()[i] *= 1 - 0.01 * static_cast<double>(run);
      }
    }
    runs.push_back(own);
  }
  return runs;
}

Tensor stacked(const std::vector<Tensor>& runs) {
  Shape shape = runs[0].shape();
  shape.insert(shape.begin(), kRuns);
  const Tensor all = Tensor::empty(runs[0].dtype(), shape);
  for (std::int64_t run = 0; run < kRuns; ++run) {
    all.select(0, run).copy_from(runs[static_cast<std::size_t>(run)]);
  }
  return all;
}

// Computes a sample for all runs, those inputs for which `differs` holds being stacked, and
// compares with one run after the other. Returns whether there was something to compare.
bool check(const OpDef& def, const Sample& sample, const std::function<bool(std::size_t)>& differs,
           std::set<std::string>& by_rule) {
  const std::vector<DType> dtypes = conformance::dtypes_of(def, sample);
  if (dtypes.empty()) {
    return false;
  }
  const DType dtype = std::ranges::count(dtypes, f64) > 0 ? f64 : dtypes[0];
  const std::vector<Tensor> values = conformance::make_inputs(sample, dtype);
  Session session;
  Graph graph = session.graph();
  RegionScope scope(graph);
  std::vector<Var> params;
  for (const Tensor& value : values) {
    params.push_back(scope.param({value.dtype(), to_dims(value.shape())}));
  }
  const std::vector<Var> results = sample.build(graph, params);
  const RegionId region = scope.finish(results);
  if (!why_not_stackable(graph, region).empty()) {
    return false;
  }
  for (OpId id : graph.region(region).ops) {
    if (&graph.op(id).def() == &def && has_stacking_rule(graph.op(id))) {
      by_rule.insert(def.name);
    }
  }
  std::vector<Stacked> arguments;
  std::vector<std::vector<Tensor>> runs;
  Feeds feeds;
  const auto add = [&](const std::string& name, const Tensor& value, bool is_stacked) {
    const Shape& shape = value.shape();
    arguments.push_back(
        {graph.input(name, value.dtype(), {shape.begin(), shape.end()}), is_stacked});
    feeds[name] = value;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    runs.push_back(values_of_runs(values[i]));
    add("in" + std::to_string(i), differs(i) ? stacked(runs[i]) : values[i], differs(i));
  }
  for (Var capture : scope.captures()) {
    arguments.push_back({capture, false});
  }
  std::vector<Var> all;
  for (const Stacked& result : stack_region(graph, region, arguments, kRuns)) {
    all.push_back(all_runs(result, results[all.size()].shape(), kRuns));
  }
  const std::vector<Tensor> got = session.compile(all)(feeds).tensors();
  for (std::int64_t run = 0; run < kRuns; ++run) {
    conformance::SampleCase alone(sample, dtype);
    Feeds own;
    for (std::size_t i = 0; i < values.size(); ++i) {
      own["in" + std::to_string(i)] =
          differs(i) ? runs[i][static_cast<std::size_t>(run)] : values[i];
    }
    const std::vector<Tensor> want = alone.session().compile(alone.outputs())(own).tensors();
    for (std::size_t i = 0; i < want.size(); ++i) {
      conformance::expect_close(got[i].select(0, run), want[i], 1e-12,
                                def.name + " '" + sample.label + "', run " + std::to_string(run) +
                                    ", output " + std::to_string(i));
    }
  }
  return true;
}

TEST(StackedOps, EverySampleOfTheCatalogue) {
  int checked = 0;
  std::set<std::string> by_rule;
  for (const OpDef* def : op_catalogue()) {
    for (const Sample& sample : def->samples ? def->samples() : std::vector<Sample>()) {
      if (sample.inputs.empty() || def->effect != Effect::none) {
        continue;
      }
      SCOPED_TRACE(def->name + " '" + sample.label + "'");
      checked += check(
          *def, sample, [](std::size_t) { return true; }, by_rule);
      checked += check(
          *def, sample, [](std::size_t i) { return i == 0; }, by_rule);
      if (sample.inputs.size() > 1) {
        checked += check(
            *def, sample, [](std::size_t i) { return i == 1; }, by_rule);
      }
    }
  }
  EXPECT_GT(checked, 500);
  for (const char* name : {"add", "tanh", "select", "matmul", "sum", "logsumexp", "reshape",
                           "transpose", "slice", "concat", "split", "softmax", "layer_norm"}) {
    EXPECT_TRUE(by_rule.contains(name)) << name;
  }
}

TEST(StackedOps, ComputesOnceWhatIsTheSameInAllRuns) {
  Graph graph;
  RegionScope scope(graph);
  const Var x = scope.param({f32, {2, 3}}), w = scope.param({f32, {3, 3}});
  const Var same = tanh(w), result = matmul(x, same);
  const RegionId region = scope.finish({result, same});
  const Var xs = graph.input("xs", f32, {"runs", 2, 3}), weight = graph.input("w", f32, {3, 3});
  const std::vector<Stacked> arguments = {{xs, true}, {weight, false}};
  const std::vector<Stacked> found = stack_region(graph, region, arguments, graph.dim("runs"));
  EXPECT_TRUE(found[0].stacked);
  EXPECT_EQ(to_string(found[0].value.shape()), "[runs, 2, 3]");
  EXPECT_FALSE(found[1].stacked);
  EXPECT_EQ(found[1].value, tanh(weight));
  EXPECT_EQ(to_string(all_runs(found[1], {3, 3}, graph.dim("runs")).shape()), "[runs, 3, 3]");
}

// A value that is the same along an axis stays so through ops that broadcast, and is repeated for
// others.
TEST(StackedOps, RepeatsAsLateAsPossible) {
  Session session;
  Graph graph = session.graph();
  RegionScope scope(graph);
  const Var x = scope.param({f64, {5, 4}}), w = scope.param({f64, {4, 6}}),
            y = scope.param({f64, {5, 6}});
  const Var product = matmul(x, w);
  const std::vector<Var> halves = split(product, {2, 4}, 1);
  const std::vector<Var> results = {product, halves[0] * 2, sum(product, {0}), product * y};
  const RegionId region = scope.finish(results);
  const Var given = graph.input("x", f64, {kRuns, 1, 4}), weight = graph.input("w", f64, {4, 6}),
            other = graph.input("y", f64, {5, 6});
  const auto run = [&](Var value) {
    const std::vector<Stacked> arguments = {{value, true}, {weight, false}, {other, false}};
    return stack_region(graph, region, arguments, kRuns);
  };
  const std::vector<Stacked> thin = run(given), whole = run(broadcast_to(given, {kRuns, 5, 4}));
  EXPECT_EQ(to_string(thin[0].value.shape()), "[3, 1, 6]");
  EXPECT_EQ(to_string(thin[1].value.shape()), "[3, 1, 2]");
  EXPECT_EQ(to_string(thin[2].value.shape()), "[3, 6]");
  EXPECT_EQ(to_string(thin[3].value.shape()), "[3, 5, 6]");
  std::vector<Var> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    all.push_back(all_runs(thin[i], results[i].shape(), kRuns));
    all.push_back(whole[i].value);
  }
  const auto values = [](const Shape& shape) {
    std::vector<double> numbers(static_cast<std::size_t>(numel(shape)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = std::sin(1.0 + static_cast<double>(i));
    }
    return Tensor::of<double>(shape, numbers);
  };
  const std::vector<Tensor> found =
      session
          .compile(all)(
              {{"x", values({kRuns, 1, 4})}, {"w", values({4, 6})}, {"y", values({5, 6})}})
          .tensors();
  for (std::size_t i = 0; i < results.size(); ++i) {
    conformance::expect_close(found[2 * i], found[2 * i + 1], 1e-14, std::to_string(i));
  }
}

}  // namespace antichain::stacked_ops_test
