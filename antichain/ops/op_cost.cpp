#include "antichain/ops/op_cost.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/products/attention.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/row_products.h"
#include "antichain/ops/wide/wide_layers.h"

namespace antichain {

namespace {

// One core of a current server CPU, f32; only their ratio matters, some ten operations per byte.
constexpr double kFlopsPerSecond = 50e9, kBytesPerSecond = 5e9;
constexpr double kSecondsPerCall = 1e-6;

double elements(const Shape& shape) { return static_cast<double>(numel(shape)); }

// Every element of the product is a sum over the axis that both factors share: its length is the
// number of elements of a over the rows of a.
double matmul_flops(Op op, const Shape& a, const Shape& out) {
  const bool transposed = op.attrs().get<bool>("transpose_a");
  return 2 * elements(out) * static_cast<double>(a[a.size() - (transposed ? 2 : 1)]);
}

// Of a convolution x * w -> y, forwards or one of its gradients: each element of y meets the
// weights of one output channel.
double conv_flops(const Shape& y, const Shape& weight) {
  return weight[0] == 0 ? 0 : 2 * elements(y) * elements(weight) / static_cast<double>(weight[0]);
}

// Every query meets every key, once in the scores and once with the values. Its gradient has two
// more products of this kind for each of the two, and the scores again.
double attention_flops(const Shape& q, const Shape& v) {
  return 2 * static_cast<double>(v[1]) * (elements(q) + elements({q[0], q[1], q[2], v[3]}));
}
double wide_layers_flops(Op op, std::span<const Shape> inputs) {
  double total = 0;
  const std::size_t layers = parts_of_wide_layers(op).layers.size();
  for (std::size_t i = 0; i < layers; ++i) {
    total += 2 * static_cast<double>(inputs[0][0]) * elements(inputs[1 + 2 * i]);
  }
  return total;
}

constexpr double kProductsOfGradient = 2.5;  // for each one of attention

Shape shape_of(Var value, const DimEnv& sizes) {
  Shape shape;
  for (Dim dim : value.shape()) {
    shape.push_back(dim.is_bound(sizes) ? dim.evaluate(sizes) : 1);
  }
  return shape;
}

}  // namespace

double flops(Op op, std::span<const Shape> inputs, std::span<const Shape> outputs) {
  const OpDef* def = &op.def();
  if (def == &matmul_def()) {
    return matmul_flops(op, inputs[0], outputs[0]);
  }
  if (def == &row_products_def()) {
    return 2 * elements(outputs[0]) * static_cast<double>(inputs[0][0]);
  }
  if (def == &conv_def()) {
    return conv_flops(outputs[0], inputs[1]);
  }
  if (def == &conv_input_gradient_def()) {
    return conv_flops(inputs[0], inputs[1]);
  }
  if (def == &attention_def()) {
    return attention_flops(inputs[0], inputs[2]);
  }
  if (def == &attention_gradient_def()) {
    return kProductsOfGradient * attention_flops(inputs[1], inputs[3]);
  }
  if (def == &wide_layers_def()) {
    return wide_layers_flops(op, inputs);
  }
  if (def == &fused_product_def()) {
    std::vector<Shape> factors;
    for (const std::size_t n : product_inputs(op)) {
      factors.push_back(inputs[n]);
    }
    return flops(product_of(op), factors, outputs.first(1));
  }
  return def == &conv_weight_gradient_def() ? conv_flops(inputs[0], outputs[0]) : 0;
}

double runs_of_bodies(Op op, const DimEnv& sizes) {
  const AttrValue* length = op.attrs().find("length");
  const Dim* steps = length != nullptr ? std::get_if<Dim>(length) : nullptr;
  return steps != nullptr && steps->is_bound(sizes) ? static_cast<double>(steps->evaluate(sizes))
                                                    : 1;
}

void for_each_work(Op op, const DimEnv& sizes, FunctionRef<void(const OpWork&)> visit) {
  // An op with the number of times that it runs.
  std::vector<std::pair<Op, double>> pending = {{op, 1}};
  while (!pending.empty()) {
    const auto [next, times] = pending.back();
    pending.pop_back();
    OpWork work{.op = next, .times = times};
    std::vector<Shape> inputs, outputs;
    const auto add = [&](Var value, std::vector<Shape>& shapes) {
      shapes.push_back(shape_of(value, sizes));
      work.bytes += elements(shapes.back()) * static_cast<double>(size_of(value.dtype()));
      work.elements = std::max(work.elements, elements(shapes.back()));
    };
    for (Var input : next.inputs()) {
      add(input, inputs);
    }
    for (Var output : next.outputs()) {
      add(output, outputs);
    }
    if (next.def().view || next.def().forwards || !next.regions().empty()) {
      work.bytes = work.elements = 0;  // what bodies do is counted with the ops in them
    } else {
      work.flops = flops(next, inputs, outputs);
    }
    visit(work);
    for (RegionId region : next.regions()) {
      for (OpId inner : next.graph().region(region).ops) {
        pending.emplace_back(next.graph().op(inner), times * runs_of_bodies(next, sizes));
      }
    }
  }
}

double estimated_seconds(Op op, const DimEnv& sizes) {
  double total = 0;
  for_each_work(op, sizes, [&total](const OpWork& work) {
    total += work.times *
             (kSecondsPerCall + work.flops / kFlopsPerSecond + work.bytes / kBytesPerSecond);
  });
  return total;
}

}  // namespace antichain
