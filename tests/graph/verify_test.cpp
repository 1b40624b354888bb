// verify() on graphs of every kind; what it rejects cannot be built from outside, except cycles
// (control_edge_test.cpp).
#include "antichain/graph/verify.h"

#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/passes/pipeline.h"

namespace antichain::verify_test {

// Builds a sample with its inputs of one type: what is left open is f64, or the first that the op
// takes.
std::vector<Var> build(Graph& graph, const OpDef& def, const Sample& sample) {
  const DType open = def.dtypes.contains(DType::f64) || def.dtypes.members().empty()
                         ? DType::f64
                         : def.dtypes.members()[0];
  std::vector<Var> inputs;
  for (const SampleInput& input : sample.inputs) {
    const Dims dims = to_dims(input.shape);
    inputs.push_back(graph.input("x" + std::to_string(inputs.size()), input.dtype.value_or(open),
                                 {dims.begin(), dims.end()}));
  }
  return sample.build(graph, inputs);
}

TEST(Verify, EverySampleOfEveryOp) {
  for (const OpDef* def : op_catalogue()) {
    if (!def->samples) {
      continue;
    }
    for (const Sample& sample : def->samples()) {
      SCOPED_TRACE(def->name + ": " + sample.label);
      Graph graph;
      const std::vector<Var> outputs = build(graph, *def, sample);
      EXPECT_NO_THROW(verify(graph));
      const GraphCopy copy = run_passes(graph, outputs, {});
      EXPECT_NO_THROW(verify(*copy.graph));
    }
  }
}

TEST(Verify, SecondDerivativesOfNestedControlFlow) {
  Graph graph;
  const Var x = graph.input("x", DType::f64, {"n"}),
            rows = graph.input("rows", DType::f64, {4, "n"});
  const Var y = chain(x, rows, [&](Var s, Var row) {
                  const Var grown =
                      loop(
                          {s}, [](const Vars& v) { return less(sum(square(v[0])), 9); },
                          [](const Vars& v) { return Vars{v[0] * 2}; })
                          .last[0];
                  return cond(
                      less(sum(row), 0), [&] { return Vars{sin(grown) * row}; },
                      [&] { return call(graph, [&] { return Vars{grown + x}; }); })[0];
                }).last;
  verify(graph);
  const Var slope = grad(y, x);
  verify(graph);
  const Var twice = grad(sum(square(slope)), x);
  verify(graph);
  const Vars all = {twice, jvp({slope}, {x}, {x})[0]};
  verify(graph);
  verify(*run_passes(graph, all, {}).graph);
}

}  // namespace antichain::verify_test
