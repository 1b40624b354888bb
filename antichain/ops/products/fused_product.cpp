#include "antichain/ops/products/fused_product.h"

#include <algorithm>
#include <array>

#include "antichain/graph/clone.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/matmul.h"

namespace antichain {

namespace {

Op product_in(Graph& graph, const RegionInfo& body) {
  const auto found = std::ranges::find_if(
      body.ops, [&](OpId id) { return is_fusible_product(graph.op(id).def()); });
  require(found != body.ops.end(), "fused_product: the body has no product");
  return graph.op(*found);
}

std::vector<VarType> infer_fused_product(InferContext& context) {
  Graph& graph = context.graph();
  const RegionInfo& body = graph.region(context.regions()[0]);
  require(!body.results.empty(), "fused_product: the body returns nothing");
  const Op product = product_in(graph, body);
  for (Var input : product.inputs()) {
    require(graph.is_region_param(input), "fused_product: {} reads what the body computes",
            product.def().name);
  }
  const Dims& shape = product.output().shape();
  for (OpId id : body.ops) {
    const Op op = graph.op(id);
    require(op == product || follows_product(op, shape),
            "fused_product: {} is neither element-wise of shape {} nor a number", op.def().name,
            to_string(shape));
  }
  std::vector<VarType> types;
  for (Var result : graph.vars(body.results)) {
    types.push_back({result.dtype(), result.shape()});
  }
  return types;
}

std::vector<Sample> fused_product_samples() {
  const auto layer = [](MatmulOptions options) {
    return [options](Graph& graph, std::span<const Var> in) {
      return fused_product(graph,
                           [&] { return Vars{tanh(matmul(in[0], in[1], options) + in[2])}; });
    };
  };
  const auto rectified = [](bool bias) {
    return [bias](Graph& graph, std::span<const Var> in) {
      return fused_product(graph, [&] {
        const Var product = matmul(in[0], in[1]);
        return Vars{relu(bias ? product + in[2] : product)};
      });
    };
  };
  const auto bias_alone = [](Graph& graph, std::span<const Var> in) {
    return fused_product(graph, [&] { return Vars{in[2] + matmul(in[0], in[1])}; });
  };
  const auto residual = [](Graph& graph, std::span<const Var> in) {
    return fused_product(graph, [&] {
      const Var sum = matmul(in[0], in[1]) * 0.5 + in[2];
      return Vars{sum, gelu(sum) + in[3], greater(sum, 0)};
    });
  };
  const auto convolution = [](bool last) {
    return [last](Graph& graph, std::span<const Var> in) {
      const ConvOptions options{.padding = {1}, .channels_last = last};
      return fused_product(graph, [&] { return Vars{relu(conv(in[0], in[1], options) + in[2])}; });
    };
  };
  return {{"bias and activation", {{{5, 4}}, {{4, 3}}, {{3}}}, layer({})},
          {"transposed", {{{4, 5}}, {{3, 4}}, {{3}}}, layer({true, true})},
          {"batch", {{{2, 5, 4}}, {{4, 3}}, {{5, 1}}}, layer({})},
          {"bias and relu", {{{5, 4}}, {{4, 3}}, {{3}}}, rectified(true)},
          {"relu", {{{5, 4}}, {{4, 3}}}, rectified(false)},
          {"bias", {{{2, 5, 4}}, {{2, 4, 3}}, {{1, 3}}}, bias_alone},
          {"residual", {{{5, 4}}, {{4, 3}}, {{3}}, {{5, 3}}}, residual},
          {"convolution", {{{2, 3, 5}}, {{4, 3, 3}}, {{4, 1}}}, convolution(false)},
          {"channels last", {{{2, 5, 3}}, {{4, 3, 3}}, {{4}}}, convolution(true)},
          {"empty", {{{0, 4}}, {{4, 3}}, {{3}}}, layer({})},
          {"sums of nothing", {{{5, 0}}, {{0, 3}}, {{3}}}, layer({})}};
}

}  // namespace

bool is_fusible_product(const OpDef& def) {
  static const std::array<const OpDef*, 4> known = {
      &matmul_def(), &conv_def(), &conv_input_gradient_def(), &conv_transpose_def()};
  return std::ranges::find(known, &def) != known.end();
}

bool follows_product(Op op, const Dims& shape) {
  const bool is_number = &op.def() == &constant_def() && op.output().rank() == 0;
  return is_number || (is_elementwise(op.def()) && op.output().shape() == shape);
}

Vars fused_product(Graph& graph, const std::function<Vars()>& body, Place place) {
  RegionScope scope(graph);
  const RegionId region = scope.finish(body());
  return add_fused(graph, region, scope.captures(), place, fused_product_def()).outputs();
}

Op product_of(Op fused) {
  return product_in(fused.graph(), fused.graph().region(fused.regions()[0]));
}

std::vector<std::size_t> product_inputs(Op fused) {
  const std::vector<VarId>& params = fused.graph().region(fused.regions()[0]).params;
  std::vector<std::size_t> numbers;
  for (Var input : product_of(fused).inputs()) {
    numbers.push_back(
        static_cast<std::size_t>(std::ranges::find(params, input.id()) - params.begin()));
  }
  return numbers;
}

std::string why_not_by_blocks(Op fused, const OpDef& product) {
  const OpDef& own = product_of(fused).def();
  if (&own != &product) {
    return "its product is " + own.name;
  }
  Graph& graph = fused.graph();
  const bool checks_sizes = std::ranges::any_of(graph.region(fused.regions()[0]).ops, [&](OpId id) {
    return !graph.constraints(graph.op(id)).empty();
  });
  return checks_sizes ? "sizes in the body must be checked" : "";
}

ProductParts::ProductParts(const KernelContext& context, std::vector<std::size_t> read)
    : op_(product_of(context.op)), factors_(product_inputs(context.op)), read_(std::move(read)) {
  const Var product = op_.output();
  const Shape shape = evaluate(product.shape(), *context.env);
  value_ = Tensor(product.dtype(), shape, contiguous_strides(shape), 0,
                  unbacked_buffer(context.out().device()));
}

KernelContext ProductParts::product(const KernelContext& context) {
  factor_pointers_.clear();
  for (const std::size_t n : factors_) {
    factor_pointers_.push_back(context.inputs[n]);
  }
  KernelContext product = context;
  product.op = op_;
  product.attrs = &op_.attrs();
  product.inputs = factor_pointers_;
  product.outputs = {&value_pointer_, 1};
  return product;
}

KernelContext ProductParts::elements(const KernelContext& context) {
  input_pointers_.clear();
  for (const std::size_t n : read_) {
    input_pointers_.push_back(context.inputs[n]);
  }
  input_pointers_.push_back(&value_);
  KernelContext elements = context;
  elements.inputs = input_pointers_;
  return elements;
}

const OpDef& fused_product_def() {
  static const OpDef def{
      .name = "fused_product",
      .doc = "Computes a product and the element-wise ops behind it together, a block at a time.",
      .attributes = {{"label", "names of the ops, for messages", {std::string()}},
                     {"contract", "whether a * b + c may be rounded once", {false}}},
      .on_any_device = true,
      .infer = infer_fused_product,
      .decompose = [](Op op) { return inline_region(op.graph(), op.regions()[0], op.inputs()); },
      .reference = [](KernelContext& context) { run_whole_region(context, 0, context.inputs); },
      .samples = fused_product_samples,
  };
  return def;
}

std::vector<const OpDef*> product_fusion_family() { return {&fused_product_def()}; }

}  // namespace antichain
