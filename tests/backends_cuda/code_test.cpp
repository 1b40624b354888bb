// Kernels compile, on every machine that has the toolkit.
#include <gtest/gtest.h>

#include "antichain/backends/cuda/core/kernel_compiler.h"
#include "antichain/backends/cuda/elementwise/elementwise_kernels.h"
#include "antichain/backends/cuda/elementwise/update_kernels.h"
#include "antichain/backends/cuda/products/fused_product_kernels.h"
#include "antichain/backends/cuda/rows/fused_rows.h"
#include "antichain/backends/cuda/rows/reduce_kernels.h"
#include "antichain/backends/cuda/rows/row_layout.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain::cuda::code_test {

constexpr int kHopper = 90;

// One op with everything element-wise that takes a type.
Op everything_of(Graph& graph, DType dtype) {
  const Var a = graph.input("a", dtype, {5, 3}), b = graph.input("b", dtype, {3});
  const Var flags = graph.input("flags", boolean, {5, 1});
  const Vars results = fused(graph, [&] {
    Vars all = {select(flags, a, b)};
    for (const DType to : kAnyDType.members()) {
      all.push_back(cast(a, to));
    }
    for (const auto& family :
         {elementwise_unary_family(), elementwise_binary_family(), elementwise_gradient_family()}) {
      for (const OpDef* def : family) {
        if (def->dtypes.contains(dtype)) {
          const bool unary = family == elementwise_unary_family();
          all.push_back(
              graph.add(*def, unary ? std::vector<Var>{a} : std::vector<Var>{a, b}).output());
        }
      }
    }
    if (is_float(dtype)) {
      all.push_back(clip(a, -1, 1));
    }
    std::erase_if(all, [&](Var value) { return value == a; });
    return all;
  });
  return results[0].producer();
}

// Calls f with the context of an op whose sizes are all known, without memory on a GPU.
template <class F>
void with_context(Op op, F f) {
  const DimEnv env;
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<std::size_t>(op.num_inputs() + op.num_outputs()));
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  for (int i = 0; i < op.num_inputs(); ++i) {
    tensors.push_back(Tensor::zeros(op.input(i).dtype(), evaluate(op.input(i).shape(), env)));
    inputs.push_back(&tensors.back());
  }
  for (int i = 0; i < op.num_outputs(); ++i) {
    tensors.push_back(Tensor::zeros(op.output(i).dtype(), evaluate(op.output(i).shape(), env)));
    outputs.push_back(&tensors.back());
  }
  KernelContext context;
  context.op = op;
  context.attrs = &op.attrs();
  context.env = &env;
  context.inputs = inputs;
  context.outputs = outputs;
  f(context);
}

class CudaCode : public testing::TestWithParam<DType> {};

TEST_P(CudaCode, EverythingElementwiseCompiles) {
  Graph graph;
  with_context(everything_of(graph, GetParam()), [](const KernelContext& context) {
    EXPECT_FALSE(compile_kernel(elementwise_code(context), kHopper).empty());
  });
}

// Builds a sample and returns the op that its first value comes from.
Op built(Graph& graph, const Sample& sample, DType dtype) {
  std::vector<Var> inputs;
  for (const SampleInput& input : sample.inputs) {
    inputs.push_back(graph.input("x" + std::to_string(inputs.size()), dtype,
                                 {input.shape.begin(), input.shape.end()}));
  }
  return sample.build(graph, inputs)[0].producer();
}

TEST_P(CudaCode, ReductionsCompile) {
  const auto compiles = [](const OpDef& def, const Ints& axes) {
    Graph graph;
    const Var x = graph.input("x", GetParam(), {3, 4, 5});
    with_context(graph.add(def, {x}, {{"axes", axes}}), [](const KernelContext& context) {
      EXPECT_FALSE(compile_kernel(reduce_code(context), kHopper).empty());
    });
  };
  for (const OpDef* def :
       {&sum_def(), &prod_def(), &mean_def(), &reduce_min_def(), &reduce_max_def()}) {
    if (def->dtypes.contains(GetParam())) {
      compiles(*def, {0, 2});
    }
  }
  if (sum_def().dtypes.contains(GetParam())) {
    compiles(sum_def(), {});
  }
}

// Of all layouts: columns and lines, read in runs and one by one, by one block and by several.
TEST_P(CudaCode, ReductionsOfAllSizesCompile) {
  if (!sum_def().dtypes.contains(GetParam())) {
    return;
  }
  const auto code = [](const Shape& shape, const Ints& axes) {
    Graph graph;
    const Var x = graph.input("x", GetParam(), {shape.begin(), shape.end()});
    std::string text;
    with_context(graph.add(sum_def(), {x}, {{"axes", axes}}),
                 [&](const KernelContext& context) { text = reduce_code(context); });
    EXPECT_FALSE(compile_kernel(text, kHopper).empty());
    return text;
  };
  const auto has = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_TRUE(has(code({16'384, 64}, {0}), "kColumns = true, kSplit = true"));
  EXPECT_TRUE(has(code({16'384, 63}, {0}), "kWidth = 1;"));
  EXPECT_TRUE(has(code({128, 512}, {0}), "kColumns = true, kSplit = false"));
  EXPECT_TRUE(has(code({1, 300'000}, {1}), "kColumns = false, kSplit = true"));
  EXPECT_TRUE(has(code({128}, {}), "kColumns = false, kSplit = false"));
  EXPECT_FALSE(has(code({128}, {}), "kWidth = 1;"));
  EXPECT_TRUE(has(code({7, 13, 5}, {0, 2}), "kWidth = 1;"));
}

class CudaRowCode : public testing::TestWithParam<DType> {};

std::string softmax_code(DType dtype, std::int64_t length) {
  Graph graph;
  const Var x = graph.input("x", dtype, {3, length});
  const Vars results = fused(graph, [&] {
    const Var e = exp(x - max(x, {1}, true));
    const Var total = sum(e, {1}, true);
    return Vars{e / total, log(total)};
  });
  std::string text;
  with_context(results[0].producer(),
               [&](const KernelContext& context) { text = row_code(context); });
  return text;
}

TEST_P(CudaRowCode, RowsOfAllLengthsCompile) {
  for (const std::int64_t length : {1, 2, 33, 512, 513, 4096, 100'000}) {
    SCOPED_TRACE(length);
    EXPECT_FALSE(compile_kernel(softmax_code(GetParam(), length), kHopper).empty());
  }
}

TEST_P(CudaRowCode, LayoutsCoverRows) {
  for (const std::int64_t length : {0, 1, 3, 10, 31, 512, 513, 1024, 5000, 16'384, 99'999}) {
    SCOPED_TRACE(length);
    Graph graph;
    const Var x = graph.input("x", GetParam(), {5, length});
    const Vars results = fused(graph, [&] { return Vars{sum(x * 2, {1}, true)}; });
    with_context(results[0].producer(), [&](const KernelContext& context) {
      const RowBody body(context.op);
      RowLayout layout(context, body);
      EXPECT_EQ(length % layout.width, 0);
      EXPECT_EQ(layout.threads & (layout.threads - 1), 0);
      EXPECT_EQ(layout.block_threads() % layout.threads, 0);
      EXPECT_TRUE(!layout.keeps() || layout.threads * layout.width * layout.runs >= length);
      layout.split(3);
      EXPECT_FALSE(layout.parts > 1 && layout.keeps());
      EXPECT_EQ(layout.part_length % layout.width, 0);
      EXPECT_GE(layout.parts * layout.part_length, length);
      EXPECT_TRUE(layout.parts == 1 || (layout.parts - 1) * layout.part_length < length);
    });
  }
}

// A warp has a row of the usual lengths and keeps its elements; long rows are walked again.
TEST(CudaCode, ShortRowsAreKept) {
  const auto has = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_TRUE(has(softmax_code(bf16, 512), "kThreads = 32, kWidth = 8, kRuns = 2;"));
  EXPECT_TRUE(has(softmax_code(f32, 1024), "kThreads = 32, kWidth = 4, kRuns = 8;"));
  EXPECT_TRUE(has(softmax_code(f32, 10), "kThreads = 8, kWidth = 2, kRuns = 1;"));
  EXPECT_TRUE(has(softmax_code(f32, 1), "kThreads = 1, kWidth = 1, kRuns = 1;"));
  EXPECT_TRUE(has(softmax_code(f32, 100'000), "kThreads = 512, kWidth = 4, kRuns = 0;"));
  // What several walks read is computed by one of them.
  const std::string kept = softmax_code(f32, 1024), walked = softmax_code(f32, 100'000);
  EXPECT_EQ(kept.find("Exp()"), kept.rfind("Exp()"));
  EXPECT_NE(walked.find("Exp()"), walked.rfind("Exp()"));
}

TEST_P(CudaRowCode, RowsCompile) {
  for (const Sample& sample : fused_def().samples()) {
    SCOPED_TRACE(sample.label);
    Graph graph;
    with_context(built(graph, sample, GetParam()), [](const KernelContext& context) {
      const std::string whole = row_code(context), split = row_code(context, true);
      EXPECT_FALSE(compile_kernel(whole, kHopper).empty());
      if (split != whole) {
        EXPECT_FALSE(compile_kernel(split, kHopper).empty());
      }
    });
  }
}

TEST_P(CudaRowCode, LongRowsThatBecomeNumbersAreSplit) {
  Graph graph;
  const Var x = graph.input("x", GetParam(), {2, 5});
  const auto is_split = [&](const std::function<Vars()>& body) {
    bool split = false;
    with_context(fused(graph, body)[0].producer(), [&](const KernelContext& context) {
      split = row_code(context, true) != row_code(context);
    });
    return split;
  };
  EXPECT_TRUE(is_split([&] { return Vars{sqrt(mean(square(x), {1}, true)), max(-x, {1}, true)}; }));
  EXPECT_FALSE(is_split([&] { return Vars{x - mean(x * x, {1}, true)}; }));
  EXPECT_FALSE(is_split([&] { return Vars{sum(exp(x - max(x, {1}, true)), {1}, true)}; }));
}

TEST(CudaCode, RowsOfIntegersCompile) {
  Graph graph;
  const Var x = graph.input("x", i32, {2, 5});
  const Vars results =
      fused(graph, [&] { return Vars{sum(x * 3, {1}, true) + max(x + 1, {1}, true)}; });
  with_context(results[0].producer(), [](const KernelContext& context) {
    EXPECT_FALSE(compile_kernel(row_code(context), kHopper).empty());
    EXPECT_FALSE(compile_kernel(row_code(context, true), kHopper).empty());
  });
}

TEST_P(CudaRowCode, FusedProductsCompile) {
  for (const Sample& sample : fused_product_def().samples()) {
    SCOPED_TRACE(sample.label);
    Graph graph;
    with_context(built(graph, sample, GetParam()), [](const KernelContext& context) {
      EXPECT_FALSE(compile_kernel(fused_product_code(context), kHopper).empty());
    });
  }
}

TEST_P(CudaRowCode, UpdatesCompile) {
  for (const OpDef* def : update_family()) {
    SCOPED_TRACE(def->name);
    for (const Sample& sample : def->samples()) {
      if (sample.label != "several") {
        continue;
      }
      Graph graph;
      with_context(built(graph, sample, GetParam()), [](const KernelContext& context) {
        EXPECT_FALSE(compile_kernel(update_code(context), kHopper).empty());
      });
    }
  }
}

// Elements are read and written in runs where there are many, and one by one where sizes do not
// allow it.
TEST_P(CudaRowCode, RunsOfElementsCompile) {
  const auto code = [](std::int64_t columns) {
    Graph graph;
    const Var x = graph.input("x", GetParam(), {512, columns});
    const Var bias = graph.input("bias", GetParam(), {columns});
    const Var scale = graph.input("scale", GetParam(), {512, 1});
    std::string text;
    const Vars results = fused(graph, [&] {
      return Vars{relu(x * scale + bias), greater(x, 0), cast(x * 2, f32)};
    });
    with_context(results[0].producer(),
                 [&](const KernelContext& context) { text = elementwise_code(context); });
    EXPECT_FALSE(compile_kernel(text, kHopper).empty());
    return text;
  };
  const std::string length = GetParam() == f64 ? "2" : "4";
  EXPECT_NE(code(512).find("compute<" + length + ">"), std::string::npos);
  const std::string one_by_one = code(513);
  EXPECT_EQ(one_by_one.find("compute<2>"), std::string::npos);
  EXPECT_EQ(one_by_one.find("compute<4>"), std::string::npos);
}

// Threads have several runs in flight where ops are few and values large.
TEST_P(CudaRowCode, RunsInFlightCompile) {
  const auto code = [](std::int64_t rows, int ops, bool channels) {
    Graph graph;
    const Var x = graph.input("x", GetParam(), {rows, 64});
    const Var bias = graph.input("bias", GetParam(), {64});
    std::string text;
    const Vars results = fused(graph, [&] {
      Var y = channels ? x * bias : relu(x);
      for (int i = 0; i < ops; ++i) {
        y = y + 1;
      }
      return Vars{y};
    });
    with_context(results[0].producer(),
                 [&](const KernelContext& context) { text = elementwise_code(context); });
    EXPECT_FALSE(compile_kernel(text, kHopper).empty());
    return text;
  };
  EXPECT_NE(code(1 << 15, 1, false).find(" o[4];"), std::string::npos);
  EXPECT_NE(code(1 << 15, 1, true).find(" o[2];"), std::string::npos);
  EXPECT_NE(code(1 << 15, 20, false).find(" o[1];"), std::string::npos);
  EXPECT_NE(code(1 << 10, 1, false).find(" o[1];"), std::string::npos);
}

// Numbers per channel do not make the runs of 16-bit values shorter.
TEST(CudaCode, RepeatedNumbersAreReadByTwoInstructions) {
  Graph graph;
  const Var x = graph.input("x", bf16, {4096, 64}), scale = graph.input("scale", f32, {64});
  const Vars results = fused(graph, [&] { return Vars{cast(cast(x, f32) * scale, bf16)}; });
  with_context(results[0].producer(), [](const KernelContext& context) {
    const std::string text = elementwise_code(context);
    EXPECT_NE(text.find("compute<8>"), std::string::npos) << text;
    EXPECT_FALSE(compile_kernel(text, kHopper).empty());
  });
}

// Only where an op says so are a product and a sum rounded once.
TEST(CudaCode, ContractedSumsAreFused) {
  for (const DType dtype : {f32, f64}) {
    Graph graph;
    const Var a = graph.input("a", dtype, {5, 3}), b = graph.input("b", dtype, {3});
    const auto code = [&](bool contract, bool rows) {
      const Op plain = fused(graph,
                             [&] {
                               const Var product = a * b;
                               const Var value = (product + b) * (a - product) + (product - b);
                               return Vars{rows ? sum(value, {1}, true) : value};
                             })[0]
                           .producer();
      Attrs attrs = plain.attrs();
      attrs.set("contract", contract);
      const Op op = graph.add(plain.def(), plain.inputs(), attrs,
                              {plain.regions().begin(), plain.regions().end()});
      std::string text;
      with_context(op, [&](const KernelContext& context) {
        text = rows ? row_code(context) : elementwise_code(context);
      });
      EXPECT_FALSE(compile_kernel(text, kHopper).empty());
      return text;
    };
    const std::string fma = dtype == f64 ? "__fma_rn" : "__fmaf_rn";
    for (const bool rows : {false, true}) {
      EXPECT_NE(code(true, rows).find(fma), std::string::npos);
      EXPECT_EQ(code(false, rows).find(fma), std::string::npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, CudaCode, testing::ValuesIn(kAnyDType.members()),
                         [](const auto& test) { return std::string(name(test.param)); });

INSTANTIATE_TEST_SUITE_P(DTypes, CudaRowCode, testing::ValuesIn(kFloats.members()),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(CudaCode, MistakesShowTheKernel) {
  try {
    compile_kernel("extern \"C\" __global__ void wrong() { missing(); }", kHopper);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos) << error.what();
  }
}

}  // namespace antichain::cuda::code_test
