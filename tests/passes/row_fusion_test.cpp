// Reductions of rows inside fused ops: what people write by hand becomes few kernels, and no bit
// changes.
#include <cmath>
#include <functional>

#include "antichain/autodiff/grad.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/passes/fusion/fuse_elementwise.h"
#include "antichain/session/session.h"
#include "tests/passes/pass_test.h"

namespace antichain::row_fusion_test {

using Function = std::function<Var(Var)>;
using Sizes = std::vector<DimSpec>;

Var softmax_by_hand(Var x) {
  const Var e = exp(x - max(x, {-1}, true));
  return e / sum(e, {-1}, true);
}

Var log_softmax_by_hand(Var x) {
  const Var shifted = x - max(x, {-1}, true);
  return shifted - log(sum(exp(shifted), {-1}, true));
}

Var layer_norm_by_hand(Var x) {
  const Var centred = x - mean(x, {-1}, true);
  const Var variance = mean(square(centred), {-1}, true);
  return centred / sqrt(variance + 1e-5) * 1.5 + 0.25;
}

Var rms_norm_by_hand(Var x) { return x / sqrt(mean(square(x), {-1}, true) + 1e-5); }

// Without axes that are kept.
Var log_sum_exp_by_hand(Var x) {
  const Var largest = max(x, {-1});
  return log(sum(exp(x - expand_dims(largest, -1)), {-1})) + largest;
}

// Against the same distribution in every row.
Var cross_entropy_by_hand(Var x) {
  const Var target = cast(greater(x, 0.3), x.dtype());
  return sum(target * (expand_dims(log_sum_exp_by_hand(x), -1) - x), {-1});
}

struct Named {
  const char* name;
  Function function;
};

const std::vector<Named>& all_functions() {
  static const std::vector<Named> kAll = {
      {"softmax", softmax_by_hand},         {"log softmax", log_softmax_by_hand},
      {"layer norm", layer_norm_by_hand},   {"rms norm", rms_norm_by_hand},
      {"log sum exp", log_sum_exp_by_hand}, {"cross entropy", cross_entropy_by_hand},
  };
  return kAll;
}

// A value and what its gradient makes of a second input.
std::vector<Var> value_and_gradient(Graph& graph, DType dtype, const Sizes& shape,
                                    const Function& function) {
  const Var x = graph.input("x", dtype, shape);
  const Var y = function(x);
  const Var weights = graph.input("weights", dtype, {y.shape().begin(), y.shape().end()});
  return {y, vjp({y}, {weights}, {x})[0]};
}

// Returns how many kernels run. What is given, views and what depends on sizes alone are none.
std::size_t num_kernels(const GraphCopy& copy) {
  const auto is_size = [](Var x) { return x.producer().def().name == "dim_value"; };
  std::size_t count = 0;
  for (Op op : schedule(*copy.graph, copy.values, copy.ops)) {
    const std::vector<Var> inputs = op.inputs();
    const bool computes = !op.def().view && std::ranges::any_of(inputs, std::not_fn(is_size));
    count += computes ? 1 : 0;
  }
  return count;
}

TEST(RowFusion, FunctionsWrittenByHandAreFewKernels) {
  for (const auto& [name, function] : all_functions()) {
    for (const Sizes& shape : {Sizes{7, 5}, Sizes{2, 3, 5}}) {
      Graph graph;
      const std::vector<Var> both = value_and_gradient(graph, f32, shape, function);
      const GraphCopy forward = run_passes(graph, {{both[0]}}, {}, {.level = 2});
      EXPECT_EQ(num_kernels(forward), 1U) << name;
      const GraphCopy all = run_passes(graph, both, {}, {.level = 2});
      EXPECT_LE(num_kernels(all), 2U) << name;
    }
  }
}

TEST(RowFusion, AlsoWithSizesThatAreSymbols) {
  for (const auto& [name, function] : all_functions()) {
    Graph graph;
    const std::vector<Var> both = value_and_gradient(graph, f32, {"n", "k"}, function);
    EXPECT_EQ(num_kernels(run_passes(graph, {{both[0]}}, {}, {.level = 2})), 1U) << name;
    EXPECT_LE(num_kernels(run_passes(graph, both, {}, {.level = 2})), 2U) << name;
  }
}

TEST(RowFusion, BehindAProductOfMatrices) {
  // The product between forward and backward keeps them apart: one kernel each way.
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 16}), w = graph.input("w", f32, {16, 16});
  const Var loss = sum(square(matmul(softmax_by_hand(matmul(x, w)), w)));
  const GraphCopy copy = run_passes(graph, {{grad(loss, w)}}, {}, {.level = 2});
  EXPECT_EQ(count_needed(copy, "matmul") + count_needed(copy, "fused_product"), 5U);
  EXPECT_LE(num_kernels(copy), 5U + 4U);
}

TEST(RowFusion, ChainsOfOpsThatEndInAReduction) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 3}), t = graph.input("t", f32, {"n", 3});
  EXPECT_EQ(num_kernels(run_passes(graph, {{mean(square(x - t))}}, {}, {.level = 2})), 1U);
  EXPECT_EQ(num_kernels(run_passes(graph, {{sum(tanh(x) * t, {1})}}, {}, {.level = 2})), 1U);
}

TEST(RowFusion, InTheBodyOfAChain) {
  Graph graph;
  const Var h = graph.input("h", f32, {4, 6}), xs = graph.input("xs", f32, {3, 4, 6});
  const Var y = chain(h, xs, [](Var state, Var x) { return softmax_by_hand(state + x); }).last;
  const GraphCopy copy = run_passes(graph, {{y}}, {}, {.level = 2});
  const RegionId body = copy.values[0].producer().regions()[0];
  EXPECT_EQ(schedule_region(*copy.graph, body).size(), 1U);
}

TEST(RowFusion, NeverAcrossAnOpThatNeedsARow) {
  // The sums go through a matrix product before they come back.
  Graph graph;
  const Var x = graph.input("x", f32, {4, 4});
  const Var total = sum(exp(x), {1}, true);
  const GraphCopy copy = apply_pass(fuse_elementwise, graph, {exp(x) * matmul(x, total) - total});
  EXPECT_EQ(count_needed(copy, "matmul"), 1U);
  EXPECT_EQ(count_needed(copy, "fused"), 2U);
}

TEST(RowFusion, ColumnsAndOtherAxesStayAlone) {
  Graph graph;
  const Var x = graph.input("x", f32, {4, 5});
  const GraphCopy columns = apply_pass(fuse_elementwise, graph, {x - mean(x, {0}, true)});
  EXPECT_EQ(count_needed(columns, "fused"), 0U);
  EXPECT_EQ(count_needed(columns, "mean"), 1U);
  // [4, 4] minus its sums [4]: they are broadcast along the other axis, so all must be there.
  const Var square_matrix = graph.input("y", f32, {4, 4});
  const GraphCopy turned =
      apply_pass(fuse_elementwise, graph, {square_matrix - sum(square_matrix, {1})});
  EXPECT_EQ(count_needed(turned, "subtract"), 1U);
}

TEST(RowFusion, LongChainsOfNormsAreCut) {
  Graph graph;
  Var x = graph.input("x", f32, {5, 7});
  for (int i = 0; i < 300; ++i) {
    x = rms_norm_by_hand(x);
  }
  const GraphCopy copy = apply_pass(fuse_elementwise, graph, {x});
  EXPECT_GT(count_needed(copy, "fused"), 10U);
  EXPECT_LT(count_needed(copy, "fused"), 100U);
}

TEST(Fused, SaysWhatItsBodyMayBe) {
  Graph graph;
  const Var x = graph.input("x", f32, {4, 5});
  EXPECT_THROW(fused(graph, [&] { return Vars{transpose(x)}; }), InvalidArgument);
  EXPECT_THROW(fused(graph, [&] { return Vars{sum(x, {0}), exp(x)}; }), InvalidArgument);
  EXPECT_THROW(fused(graph, [&] { return Vars{sum(x, {1}), sum(x, {0, 1})}; }), ShapeError);
}

Tensor wave(const Shape& shape, DType dtype, double phase) {
  Tensor result = Tensor::empty(f64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<double>()[i] = 3 * std::sin(0.37 * static_cast<double>(i) + phase);
  }
  return result.cast(dtype);
}

// Results at level 2 have the bits of level 0, on any number of threads. The reference, which folds
// constants, rounds less often than kernels do.
void expect_same_bits(const Function& function, DType dtype, const Shape& shape,
                      const Sizes& symbols, const std::string& what) {
  std::vector<Tensor> plain;
  for (const int level : {0, 2}) {
    Session session;
    Graph graph = session.graph();
    const std::vector<Var> both = value_and_gradient(graph, dtype, symbols, function);
    Shape weights = shape;  // of the value
    if (both[0].rank() < static_cast<int>(shape.size())) {
      weights.pop_back();
    } else if (both[0].dim(-1) == Dim(1)) {
      weights.assign(shape.size(), 1);
    }
    const Executable run =
        session.compile(both, {.compiler = {.level = level, .disabled = {"fold-constants"}}});
    for (const int threads : {1, 2, 3, 4}) {
      cpu::set_num_threads(threads);
      const Results results =
          run({{"x", wave(shape, dtype, 0.2)}, {"weights", wave(weights, dtype, 1.1)}});
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (level == 0 && threads == 1) {
          plain.push_back(results[i].clone());
        } else {
          EXPECT_TRUE(bit_equal(results[i], plain[i]))
              << what << " of " << to_string(shape) << ' ' << name(dtype) << ", result " << i
              << ", level " << level << ", threads " << threads;
        }
      }
    }
  }
  cpu::set_num_threads(1);
}

TEST(RowFusion, ShortRowsHaveTheSameBits) {
  for (const auto& [name, function] : all_functions()) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
      for (const std::int64_t rows : {1, 3, 130}) {
        for (const std::int64_t columns : {1, 2, 7, 65, 1025}) {
          expect_same_bits(function, dtype, {rows, columns}, {"n", "k"}, name);
        }
      }
    }
  }
}

TEST(RowFusion, LongRowsHaveTheSameBits) {
  // Up to 64 rows of more than 32,768 elements are folded in chunks.
  for (const auto& [name, function] : all_functions()) {
    expect_same_bits(function, f32, {3, 100003}, {"n", "k"}, name);
    expect_same_bits(function, bf16, {1, 100003}, {"n", "k"}, name);
  }
  expect_same_bits(softmax_by_hand, f32, {65, 32771}, {"n", "k"}, "softmax");
}

TEST(RowFusion, NoRowsAndNoElements) {
  for (const auto& [name, function] : all_functions()) {
    expect_same_bits(function, f32, {0, 5}, {"n", "k"}, name);
  }
  const Function total = [](Var x) { return exp(x) * sum(tanh(x), {-1}, true) + 1; };
  expect_same_bits(total, f32, {3, 0}, {"n", "k"}, "nothing");
  const Function count = [](Var x) { return sum(tanh(x), {-1}); };
  expect_same_bits(count, f32, {3, 0}, {"n", "k"}, "sums of nothing");
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", "k"});
  const Executable run = session.compile({x - max(x, {1}, true)});
  EXPECT_THROW(run({{"x", Tensor::empty(f32, {3, 0})}}), ShapeError);
}

TEST(RowFusion, RowsOfSeveralAxesAndViews) {
  const Function planes = [](Var x) {
    const Var centred = x - mean(x, {2, 3}, true);
    return centred * min(square(centred), {2, 3}, true);
  };
  expect_same_bits(planes, f32, {3, 4, 5, 7}, {"n", 4, "h", "w"}, "planes");
  const Function turned = [](Var x) { return softmax_by_hand(transpose(x)) + transpose(x); };
  expect_same_bits(turned, f32, {70, 70}, {"n", 70}, "a transposed value");
  const Function spread = [](Var x) {
    return sum(x, {1}, true) * prod(x, {1}, true) + broadcast_to(max(x, {1}, true), x.shape());
  };
  expect_same_bits(spread, f32, {40, 9}, {"n", "k"}, "several reductions");
}

TEST(RowFusion, WholeValuesHaveTheSameBits) {
  const Function total = [](Var x) { return mean(square(x - 0.5), {0, 1}, true); };
  const Function scaled = [](Var x) { return x / sqrt(sum(square(x), {}, true)); };
  for (const std::int64_t rows : {1, 3, 1500}) {
    for (const std::int64_t columns : {1, 7, 257}) {
      expect_same_bits(total, f32, {rows, columns}, {"n", "k"}, "mean of squares");
      expect_same_bits(scaled, f32, {rows, columns}, {"n", "k"}, "unit length");
    }
  }
}

TEST(RowFusion, IntegersHaveTheSameBits) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", i64, {"n", "k"});
  const Var y = x * sum(x * x, {1}, true) - max(x, {1}, true);
  const Tensor values = wave({9, 33}, f64, 0.4);
  const Tensor input = Tensor::empty(i64, {9, 33});
  for (std::int64_t i = 0; i < input.numel(); ++i) {
    input.data<std::int64_t>()[i] = static_cast<std::int64_t>(1e9 * values.data<double>()[i]);
  }
  const Results plain = session.compile({y}, {.compiler = {.level = 0}})({{"x", input}});
  const Executable run = session.compile({y}, {.compiler = {.level = 2}});
  EXPECT_TRUE(bit_equal(run({{"x", input}})[0], plain[0]));
}

TEST(RowFusion, AgreesWithDouble) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", "k"});
  const Executable run = session.compile({softmax_by_hand(x), layer_norm_by_hand(x)});
  const Tensor input = wave({11, 37}, f32, 0.7);
  const Results got = run({{"x", input}});
  for (std::int64_t row = 0; row < 11; ++row) {
    const float* from = input.data<float>() + row * 37;
    double total = 0, average = 0, squares = 0;
    for (int i = 0; i < 37; ++i) {
      total += std::exp(static_cast<double>(from[i]));
      average += static_cast<double>(from[i]) / 37;
    }
    for (int i = 0; i < 37; ++i) {
      squares += std::pow(static_cast<double>(from[i]) - average, 2) / 37;
    }
    for (int i = 0; i < 37; ++i) {
      const double value = static_cast<double>(from[i]);
      EXPECT_NEAR(got[0].data<float>()[row * 37 + i], std::exp(value) / total, 1e-6);
      EXPECT_NEAR(got[1].data<float>()[row * 37 + i],
                  (value - average) / std::sqrt(squares + 1e-5) * 1.5 + 0.25, 1e-5);
    }
  }
}

}  // namespace antichain::row_fusion_test
