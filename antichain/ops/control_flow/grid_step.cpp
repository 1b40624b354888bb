#include "antichain/ops/control_flow/grid_step.h"

#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_grid_stride(InferContext& context) {
  context.require_inputs(0);
  const DType dtype = context.attrs().get<DType>("dtype");
  require<TypeError>(kFloats.contains(dtype), "grid_stride: {} is no floating-point type",
                     name(dtype));
  return {{dtype, {}}};
}

std::vector<VarType> infer_on_coarse_grids(InferContext& context) {
  context.require_inputs(2);
  const DType dtype = context.require_same_dtype();
  context.unify(context.shape(0), context.shape(1), "shapes of the fine and the coarse step");
  return {{dtype, context.shape(0)}};
}

std::vector<Var> one_step(Op op) {
  return {scalar(op.graph(), op.attrs().get<DType>("dtype"), 1, op.location())};
}

std::vector<Var> fine_step(Op op) { return {op.input(0)}; }

std::vector<Sample> grid_stride_samples() {
  std::vector<Sample> samples;
  for (const DType dtype : {f32, f64, bf16}) {
    samples.push_back({std::string(name(dtype)), {}, [dtype](Graph& graph, Inputs) {
                         return one(grid_stride(graph, dtype));
                       }});
  }
  return samples;
}

std::vector<Sample> on_coarse_grids_samples() {
  const auto build = build_one([](Inputs in) { return on_coarse_grids(in[0], in[1]); });
  return {{"matrices", {{{2, 3}}, {{2, 3}}}, build}, {"empty", {{{0}}, {{0}}}, build}};
}

}  // namespace

const OpDef& grid_stride_def() {
  static const OpDef def{
      .name = "grid_stride",
      .doc =
          "How many steps of a chain a step of its body stands for: 1, or more on the coarse "
          "grids of engine multigrid.",
      .attributes = {{"dtype", "element type"}},
      .dtypes = {},
      .infer = infer_grid_stride,
      .no_gradient = "it has no inputs",
      .no_vmap = kSameInAllCopies,
      .rewrites =
          {{"grid_stride -> 1",
            [](Op op) { return std::optional(one_step(op)); },
            {"f32", {}, [](Graph& graph, Inputs) { return one(grid_stride(graph, f32)); }}}},
      .reference = [](KernelContext& context) { store(std::vector<double>{1}, context.out()); },
      .samples = grid_stride_samples,
  };
  return def;
}

const OpDef& on_coarse_grids_def() {
  static const OpDef def{
      .name = "on_coarse_grids",
      .doc = "The first value or, on the coarse grids of engine multigrid, the second.",
      .dtypes = kAnyDType,
      .infer = infer_on_coarse_grids,
      .vmap =
          [](VmapContext& context) {
            return std::optional(context.same_op(context.all_repeated(), context.attrs()));
          },
      .decompose = fine_step,
      .rewrites = {{"on_coarse_grids(x, y) -> x",
                    [](Op op) { return std::optional(fine_step(op)); },
                    {"matrices", {{{2, 3}}, {{2, 3}}}, build_one([](Inputs in) {
                       return on_coarse_grids(in[0], in[1]);
                     })}}},
      .reference = [](KernelContext& context) { context.out().copy_from(context.in(0)); },
      .samples = on_coarse_grids_samples,
  };
  return def;
}

Var grid_stride(Graph& graph, DType dtype, Place place) {
  return graph.add(grid_stride_def(), {}, {{"dtype", dtype}}, {}, place).output();
}

Var on_coarse_grids(const Operand& fine, const Operand& coarse) {
  return apply(on_coarse_grids_def(), {fine, coarse});
}

std::vector<const OpDef*> grid_step_family() {
  return {&grid_stride_def(), &on_coarse_grids_def()};
}

}  // namespace antichain
