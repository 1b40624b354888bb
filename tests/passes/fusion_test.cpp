// Fusion of element-wise ops: what belongs together, and that no bit changes.
#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/backends/cpu/simd/level.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/passes/fusion/fuse_elementwise.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::fusion_test {

TEST(FuseElementwise, OneOpForAnExpression) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 3}), b = graph.input("b", f32, {3});
  const GraphCopy copy = apply_pass(fuse_elementwise, graph, {tanh(x * 2 + b) - x});
  EXPECT_EQ(count_needed(copy, "fused"), 1U);
  EXPECT_EQ(num_needed(copy), 3U);  // with the inputs; the number is inside
}

TEST(FuseElementwise, SeveralResultsOfOneInput) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 3});
  const GraphCopy copy = apply_pass(fuse_elementwise, graph, {exp(x), sin(x)});
  EXPECT_EQ(count_needed(copy, "fused"), 1U);
  EXPECT_EQ(copy.values[0].producer(), copy.values[1].producer());
}

TEST(FuseElementwise, NeverAcrossAnOpThatNeedsTheFirstResult) {
  // exp(x) and the sum behind the product read and make the same shape, but the product is between
  // them.
  Graph graph;
  const Var x = graph.input("x", f32, {4, 4});
  const Var first = exp(x), second = sin(first) + matmul(first, first) * x;
  const GraphCopy copy = apply_pass(fuse_elementwise, graph, {second});
  EXPECT_EQ(count_needed(copy, "matmul"), 1U);
  EXPECT_EQ(count_needed(copy, "exp") + count_needed(copy, "fused"), 2U);
}

TEST(FuseElementwise, AlsoInBodies) {
  Graph graph;
  const Var x = graph.input("x", f32, {2}), xs = graph.input("xs", f32, {3, 2});
  const Var y = chain(x, xs, [](Var h, Var x_t) { return tanh(h * 0.5 + x_t); }).last;
  const GraphCopy copy = apply_pass(fuse_elementwise, graph, {y});
  const RegionId body = copy.values[0].producer().regions()[0];
  EXPECT_EQ(schedule_region(*copy.graph, body).size(), 1U);
}

TEST(FuseElementwise, LongExpressionsAreCut) {
  Graph graph;
  Var x = graph.input("x", f32, {5});
  for (int i = 0; i < 1000; ++i) {
    x = sin(x);
  }
  const GraphCopy copy = apply_pass(fuse_elementwise, graph, {x});
  EXPECT_GT(count_needed(copy, "fused"), 10U);
  EXPECT_LT(count_needed(copy, "fused"), 100U);
}

struct Values {
  Tensor a, b, c, d;
};

// Results at two levels have the same bits: the loops are the same ones.
void expect_same_bits(const Values& values, const std::function<std::vector<Var>(Graph&)>& build) {
  std::vector<Tensor> plain;
  for (const int level : {0, 2}) {
    Session session;
    Graph graph = session.graph();
    const Executable run = session.compile(build(graph), {.compiler = {.level = level}});
    Feeds feeds;
    for (const auto& [name, value] : {std::pair("a", values.a), std::pair("b", values.b),
                                      std::pair("c", values.c), std::pair("d", values.d)}) {
      if (value.defined()) {
        feeds[name] = value;
      }
    }
    const Results results = run(feeds);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (level == 0) {
        plain.push_back(results[i]);
      } else {
        EXPECT_TRUE(bit_equal(results[i], plain[i])) << "result " << i;
      }
    }
  }
}

TEST(FusedKernel, BroadcastsOfAllKinds) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    for (const std::int64_t rows : {1, 3, 130}) {
      for (const std::int64_t columns : {1, 7, 64, 700, 3000}) {
        expect_same_bits({wave({rows, columns}, dtype), wave({columns}, dtype),
                          wave({rows, 1}, dtype), wave({columns, rows}, dtype)},
                         [&](Graph& graph) {
                           const Var a = graph.input("a", dtype, {rows, "n"});
                           const Var b = graph.input("b", dtype, {a.dim(1)});
                           const Var c = graph.input("c", dtype, {rows, 1});
                           const Var d = graph.input("d", dtype, {a.dim(1), rows});
                           const Var sum = tanh(a * b + c) * 2;
                           const Var small = select(greater(sum, b), sum, transpose(d));
                           return std::vector<Var>{small, sum - exp(-a), cast(sum, f32) * 3};
                         });
      }
    }
  }
}

TEST(FusedKernel, InPlaceOnlyWhereNobodyReadsLater) {
  expect_same_bits({wave({50, 41}), wave({50, 41}), {}, {}}, [](Graph& graph) {
    const Var a = graph.input("a", f32, {50, 41}), b = graph.input("b", f32, {50, 41});
    // Two values that die in the group, three results: each may take the memory of one, if it is
    // not read by a later loop.
    const Var x = matmul(a, transpose(b)), y = matmul(b, transpose(a));
    const Var sum = x + y, rest = x * 3 - sum, last = rest * y + x;
    return std::vector<Var>{matmul(sum, a), matmul(rest, a), matmul(last, a)};
  });
}

TEST(FusedKernel, BesideANumberThatAChainHandsOn) {
  // The number has no op in the body: it is copied from step to step.
  Session session;
  Graph graph = session.graph();
  const Var h = graph.input("h", f32, {3}), xs = graph.input("xs", f32, {4, 3});
  const ChainResult result =
      chain({h, sum(h)}, {xs}, [](Var, const Vars& s, const Vars& x) -> StepResult {
        return {{tanh(s[0] * 0.5 + x[0]), s[1]}};
      });
  for (const int level : {0, 2}) {
    const Executable run = session.compile({result.last[1]}, {.compiler = {.level = level}});
    EXPECT_EQ(run({{"h", Tensor::full(f32, {3}, 0.5)}, {"xs", wave({4, 3})}}).item(), 1.5F);
  }
}

TEST(FusedKernel, ATrainingStepAndItsGradients) {
  expect_same_bits({wave({9, 5}), wave({5, 4}), wave({4}), {}}, [](Graph& graph) {
    const Var x = graph.input("a", f32, {"n", 5}), w = graph.input("b", f32, {5, 4});
    const Var b = graph.input("c", f32, {4});
    const Var h = gelu(matmul(x, w) + b);
    const Var loss = mean(square(h - sigmoid(h * 3)) + log1p(exp(h)));
    std::vector<Var> all = grad(loss, {w, b, x});
    all.push_back(loss);
    return all;
  });
}

TEST(Fusion, OpsThatOthersWaitForStayAlone) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {8});
  const Var y = exp(x * 2.0), z = tanh(x + 1.0) * 3.0;
  graph.add_control_edge(y.producer(), z.producer());
  const Executable run = session.compile({y, z});
  EXPECT_NO_THROW(run({{"x", Tensor::full(f32, {8}, 0.5)}}));
}

// 1 + 2^-12 squared has a bit that f32 does not have; rounding it first loses it.
TEST(Contract, RoundsOnceWithFastMathAlone) {
  Session session;
  Graph graph = session.graph();
  const Var a = graph.input("a", f32, {"n"}), b = graph.input("b", f32, {a.dim(0)});
  const Var y = a * b - 1;
  const float x = 1 + std::ldexp(1.0F, -12);
  const Feeds feeds = {{"a", Tensor::full(f32, {37}, x)}, {"b", Tensor::full(f32, {37}, x)}};
  const auto value = [&](const CompilerOptions& options) {
    return session.compile({y}, {.compiler = options})(feeds)[0].to_vector<float>()[36];
  };
  const float twice = x * x - 1, once = std::fma(x, x, -1.0F);
  ASSERT_NE(once, twice);
  EXPECT_EQ(value({}), twice);
  EXPECT_EQ(value({.disabled = {"contract"}, .fast_math = true}), twice);
  const bool compiles =
      cpu::make_jit_compiler() != nullptr && cpu::cpu_supports(cpu::SimdLevel::avx2).yes;
  EXPECT_EQ(value({.fast_math = true}), compiles ? once : twice);
}

}  // namespace antichain::fusion_test
