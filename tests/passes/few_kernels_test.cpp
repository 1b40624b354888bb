// What remains to be run of a training step on a device that wants few kernels.
#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::few_kernels_test {

using testing::UnorderedElementsAre;

class OpNames : public RunObserver {
 public:
  void ran(const OpEvent& event) override { names.push_back(event.op.def().name); }

  std::vector<std::string> names;
};

// The ops of a run, on a device without kernels for losses and softmax.
std::vector<std::string> ops_run(Session& session, const std::vector<Var>& values,
                                 const Feeds& feeds) {
  CompilerOptions options;
  options.is_missing = [](Op op) {
    return op.def().name == "cross_entropy" || op.def().name == "softmax" ||
           op.def().name == "logsumexp";
  };
  Executable run = session.compile(values, {.compiler = options});
  run.set_parallel_steps(false);
  OpNames observer;
  run.run(feeds, {&observer});
  return observer.names;
}

// Marks of the labels, one walk over the rows for loss and gradient, and the mean.
TEST(FewKernels, OfALossAndItsGradient) {
  for (const bool fixed : {true, false}) {
    Session session;
    Graph graph = session.graph();
    const DimSpec batch = fixed ? DimSpec(6) : DimSpec("batch");
    const Var x = graph.input("x", f32, {batch, 3}), w = graph.input("w", f32, {3, 5});
    const Var logits = matmul(x, w);
    const Var loss = mean(cross_entropy(logits, graph.input("label", i64, {batch})));
    EXPECT_THAT(
        ops_run(session, {loss, grad(loss, logits)},
                {{"x", wave({6, 3})}, {"w", wave({3, 5})}, {"label", Tensor::zeros(i64, {6})}}),
        UnorderedElementsAre("matmul", "one_hot", "fused", "mean"));
  }
}

TEST(FewKernels, LossesOfManyClassesNeedNoMarks) {
  Session session;
  Graph graph = session.graph();
  const Var logits = graph.input("logits", f32, {2, 5000});
  const Var loss = cross_entropy(logits, graph.input("label", i64, {2}));
  EXPECT_THAT(
      ops_run(session, {loss}, {{"logits", wave({2, 5000})}, {"label", Tensor::zeros(i64, {2})}}),
      testing::Not(testing::Contains("one_hot")));
}

TEST(FewKernels, WhatFollowsFromSizesIsNotRun) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", 3});
  const Var scale = sqrt(reciprocal(cast(dim_value(graph, x.dim(0)), f32)));
  EXPECT_THAT(ops_run(session, {exp(x) * scale}, {{"x", wave({4, 3})}}),
              UnorderedElementsAre("fused"));
  EXPECT_THAT(ops_run(session, {exp(x) * scale, scale}, {{"x", wave({4, 3})}}),
              UnorderedElementsAre("fused"));
}

}  // namespace antichain::few_kernels_test
