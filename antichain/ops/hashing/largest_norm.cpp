#include "antichain/ops/hashing/largest_norm.h"

#include <algorithm>
#include <cmath>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

namespace {

constexpr int kWhen = 0, kWeight = 1, kBias = 2, kOtherwise = 3;

std::vector<VarType> infer_largest_norm_if(InferContext& context) {
  context.require_inputs(4);
  context.require_dtype(kWhen, {DType::boolean});
  context.require_rank(kWhen, 0);
  context.require_dtype(kWeight, kFloats);
  context.require_dtype(kBias, {context.dtype(kWeight)});
  context.require_rank(kWeight, 2);
  context.require_rank(kBias, 1);
  context.unify(context.shape(kWeight)[0], context.shape(kBias)[0],
                "numbers of rows and of biases");
  context.require_dtype(kOtherwise, {DType::f32});
  context.require_rank(kOtherwise, 0);
  return {{DType::f32, {}}};
}

void largest_norm_if_reference(KernelContext& context) {
  float& largest = *context.out().data<float>();
  largest = context.in(kOtherwise).item<float>();
  if (!context.in(kWhen).item<bool>()) {
    return;
  }
  const std::vector<double> weight = load<double>(context.in(kWeight)),
                            bias = load<double>(context.in(kBias));
  const std::size_t features = bias.empty() ? 0 : weight.size() / bias.size();
  double most = 0;
  for (std::size_t row = 0; row < bias.size(); ++row) {
    double square = bias[row] * bias[row];
    for (std::size_t i = row * features; i < (row + 1) * features; ++i) {
      square += weight[i] * weight[i];
    }
    most = std::isnan(square) ? square : std::max(most, square);
    if (std::isnan(most)) {
      break;
    }
  }
  largest = static_cast<float>(std::sqrt(most));
}

std::vector<Sample> largest_norm_if_samples() {
  const auto sample = [](const char* label, bool when) {
    return Sample{label, {{{7, 9}}, {{7}}}, [when](Graph& graph, Inputs in) {
                    return one(largest_norm_if(scalar(graph, boolean, when), in[0], in[1],
                                               scalar(graph, f32, 3)));
                  }};
  };
  return {sample("now", true), sample("not now", false)};
}

}  // namespace

const OpDef& largest_norm_if_def() {
  static const OpDef def{
      .name = "largest_norm_if",
      .doc =
          "The largest norm of the rows of a weight with their biases where a flag says so, "
          "and another number where it does not.",
      .infer = infer_largest_norm_if,
      .no_gradient = "codes are computed with it, and they are integers",
      .vmap_serially = "each copy has a weight of its own",
      .reference = largest_norm_if_reference,
      .samples = largest_norm_if_samples,
  };
  return def;
}

Var largest_norm(Var weight, Var bias) {
  const Var squares = sum(square(weight), {1}) + square(bias);
  return cast(sqrt(max(squares)), f32);
}

Var largest_norm_if(Var when, Var weight, Var bias, Var otherwise) {
  return weight.graph().add(largest_norm_if_def(), {when, weight, bias, otherwise}).output();
}

}  // namespace antichain
