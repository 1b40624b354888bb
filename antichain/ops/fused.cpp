#include "antichain/ops/fused.h"

#include <unordered_set>

#include "antichain/graph/clone.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/region_parts.h"

namespace antichain {

namespace {

std::vector<VarType> infer_fused(InferContext& context) {
  Graph& graph = context.graph();
  const RegionInfo& body = graph.region(context.regions()[0]);
  const Vars results = graph.vars(body.results);
  require(!results.empty(), "fused: the body returns nothing");
  std::vector<VarType> types;
  for (Var result : results) {
    types.push_back({result.dtype(), result.shape()});
  }
  for (OpId id : body.ops) {
    const Op op = graph.op(id);
    if (&op.def() == &constant_def() && op.output().rank() == 0) {
      continue;
    }
    require(is_elementwise(op.def()), "fused: {} is not element-wise", op.def().name);
    require<ShapeError>(op.output().shape() == types[0].shape,
                        "fused: {} has shape {}, the results have {}", op.def().name,
                        to_string(op.output().shape()), to_string(types[0].shape));
  }
  return types;
}

std::vector<Sample> fused_samples() {
  const auto bias_and_activation = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] { return Vars{tanh(in[0] + in[1])}; });
  };
  const auto several = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] {
      const Var sum = in[0] * in[1] + in[2];
      const Var rest = select(greater(sum, in[1]), sum, -in[0]);
      return Vars{sum, sigmoid(rest) * in[2]};
    });
  };
  const auto types = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] {
      const Var wide = cast(in[0], DType::f64) * 2;
      return Vars{cast(wide, in[0].dtype()), greater(wide, 0.5), clip(in[0], -1, 1)};
    });
  };
  return {{"bias and activation", {{{5, 3}}, {{3}}}, bias_and_activation},
          {"several results", {{{2, 3, 4}}, {{3, 1}}, {{2, 1, 4}}}, several},
          {"several types", {{{7}}}, types},
          {"numbers", {{{}}, {{}}, {{}}}, several},
          {"empty", {{{0, 3}}, {{3}}}, bias_and_activation}};
}

}  // namespace

bool is_elementwise(const OpDef& def) {
  static const std::unordered_set<const OpDef*> known = [] {
    std::unordered_set<const OpDef*> all;
    for (const auto& family : {elementwise_unary_family(), elementwise_binary_family(),
                               elementwise_gradient_family(), elementwise_other_family()}) {
      all.insert(family.begin(), family.end());
    }
    return all;
  }();
  return known.contains(&def);
}

const OpDef& fused_def() {
  static const OpDef def{
      .name = "fused",
      .doc = "Computes a body of element-wise ops together, a piece at a time.",
      .attributes = {{"label", "names of the ops, for messages", {std::string()}}},
      .infer = infer_fused,
      .decompose = [](Op op) { return inline_region(op.graph(), op.regions()[0], op.inputs()); },
      .reference = [](KernelContext& context) { run_whole_region(context, 0, context.inputs); },
      .samples = fused_samples,
  };
  return def;
}

Vars fused(Graph& graph, const std::function<Vars()>& body, Place place) {
  RegionScope scope(graph);
  const RegionId region = scope.finish(body());
  return add_fused(graph, region, scope.captures(), place).outputs();
}

Op add_fused(Graph& graph, RegionId body, const Vars& captures, Place place, const OpDef& def) {
  std::string label;
  for (OpId id : graph.region(body).ops) {
    if (const OpDef& part = graph.op(id).def(); &part != &constant_def()) {
      label += (label.empty() ? "" : ", ") + part.name;
    }
  }
  return graph.add(def, captures, {{"label", label}}, {body}, place);
}

std::vector<const OpDef*> fusion_family() { return {&fused_def()}; }

}  // namespace antichain
