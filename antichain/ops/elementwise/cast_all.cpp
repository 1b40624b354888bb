#include "antichain/ops/elementwise/cast_all.h"

#include "antichain/graph/infer_context.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/compute.h"

namespace antichain {

namespace {

std::vector<VarType> infer_cast_all(InferContext& context) {
  require(context.num_inputs() > 0, "{}: needs at least one value", context.op_name());
  context.require_same_dtype();
  std::vector<VarType> types;
  for (int i = 0; i < context.num_inputs(); ++i) {
    types.push_back({context.attrs().get<DType>("dtype"), context.shape(i)});
  }
  return types;
}

Vars decompose_cast_all(Op op) {
  Vars results;
  for (Var input : op.inputs()) {
    results.push_back(cast(input, op.attrs().get<DType>("dtype")));
  }
  return results;
}

void cast_all_reference(KernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    visit_compute(context.in(i).dtype(),
                  [&](auto zero) { store(load<decltype(zero)>(context.in(i)), context.out(i)); });
  }
}

std::vector<Sample> cast_all_samples() {
  std::vector<Sample> all;
  for (const DType target : {f64, f32, bf16, i32, boolean}) {
    all.push_back({"to " + std::string(name(target)),
                   {{{5, 3}, -3, 3}, {{}, -3, 3}, {{0, 2}}, {{7}, -3, 3}},
                   [target](Graph&, std::span<const Var> in) {
                     return cast_all({in.begin(), in.end()}, target);
                   }});
  }
  return all;
}

}  // namespace

const OpDef& cast_all_def() {
  static const OpDef def{
      .name = "cast_all",
      .doc = "Converts several values to another element type, as cast does.",
      .attributes = {{"dtype", "the type to convert to"}},
      .dtypes = kAnyDType,
      .infer = infer_cast_all,
      .decompose = decompose_cast_all,
      .reference = cast_all_reference,
      .samples = cast_all_samples,
  };
  return def;
}

Vars cast_all(const Vars& values, DType dtype, Place place) {
  require(!values.empty(), "cast_all: needs at least one value");
  return values[0].graph().add(cast_all_def(), values, {{"dtype", dtype}}, {}, place).outputs();
}

std::vector<const OpDef*> cast_all_family() { return {&cast_all_def()}; }

}  // namespace antichain
