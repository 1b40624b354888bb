#include "antichain/graph/structural_ops.h"

#include "antichain/graph/graph.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"

namespace antichain {

namespace {

constexpr std::int64_t kKnownElements =
    64;  // integer constants up to this size take part in shape inference

VarType constant_type(const Tensor& value) {
  VarType type{value.dtype(), to_dims(value.shape())};
  if (is_integer(value.dtype()) && value.numel() <= kKnownElements) {
    type.value = to_dims(value.to_vector<std::int64_t>());
  }
  return type;
}

std::vector<Sample> constant_samples() {
  return {{"small", {}, [](Graph& graph, std::span<const Var>) {
             const Tensor value = Tensor::of<float>({2, 3}, {1, 2, 3, -4, 5.5F, 0});
             return graph.add(constant_def(), {}, {{"value", value}}).outputs();
           }}};
}

}  // namespace

const OpDef& input_def() {
  static const OpDef def{
      .name = "input",
      .doc = "A value fed at every run.",
      .attributes = {{"name", "the name to feed it by"},
                     {"dtype", "element type"},
                     {"shape", "symbolic shape"}},
      .dtypes = kAnyDType,
      .infer =
          [](InferContext& context) {
            const Dims& shape = context.attrs().get<Dims>("shape");
            for (Dim dim : shape) {
              require<ShapeError>(dim.range().max >= 0, "input: size {} is negative", dim.str());
            }
            return std::vector<VarType>{{context.attrs().get<DType>("dtype"), shape}};
          },
      .no_gradient = "it has no inputs",
      .no_vmap = "it has no inputs, so it is computed once for all copies",
  };
  return def;
}

const OpDef& constant_def() {
  static const OpDef def{
      .name = "constant",
      .doc = "A value known when the graph is built.",
      .attributes = {{"value", "the tensor"}},
      .dtypes = kAnyDType,
      .forwards = true,
      .infer =
          [](InferContext& context) {
            const Tensor& value = context.attrs().get<Tensor>("value");
            require(value.defined(), "constant: the tensor is empty");
            return std::vector<VarType>{constant_type(value)};
          },
      .no_gradient = "it has no inputs",
      .no_vmap = "it has no inputs, so it is computed once for all copies",
      .reference = [](KernelContext& context) { context.out() = context.attr<Tensor>("value"); },
      .samples = constant_samples,
  };
  return def;
}

}  // namespace antichain
