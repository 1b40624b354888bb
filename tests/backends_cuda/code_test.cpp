// Kernels compile, on every machine that has the toolkit.
#include <gtest/gtest.h>

#include "antichain/backends/cuda/code_loader.h"
#include "antichain/backends/cuda/elementwise_kernels.h"
#include "antichain/backends/cuda/fused_rows.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/fused.h"

namespace antichain::cuda {
namespace {

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

class CudaRowCode : public testing::TestWithParam<DType> {};

TEST_P(CudaRowCode, RowsCompile) {
  for (const Sample& sample : fused_def().samples()) {
    SCOPED_TRACE(sample.label);
    Graph graph;
    std::vector<Var> inputs;
    for (const SampleInput& input : sample.inputs) {
      inputs.push_back(graph.input("x" + std::to_string(inputs.size()), GetParam(),
                                   {input.shape.begin(), input.shape.end()}));
    }
    const Op op = sample.build(graph, inputs)[0].producer();
    with_context(op, [](const KernelContext& context) {
      EXPECT_FALSE(compile_kernel(row_code(context), kHopper).empty());
    });
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

}  // namespace
}  // namespace antichain::cuda
