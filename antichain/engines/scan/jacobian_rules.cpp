#include "antichain/engines/scan/jacobian_rules.h"

#include <algorithm>
#include <unordered_map>

#include "antichain/engines/scan/jacobian_use.h"
#include "antichain/engines/scan/kept_axes.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain::scan {

namespace {

// Elements of a full matrix, per example.
constexpr std::int64_t kLargestFull = std::int64_t{1} << 20;

bool has_vjp(const OpDef& def) { return def.vjp || def.decompose; }

BuildJacobian by_rule(const JacobianUse& use) {
  using Rule = BuildJacobian (*)(const JacobianUse&);
  static const std::unordered_map<const OpDef*, Rule> rules = {
      {&conv_def(), conv_jacobian},
      {&matmul_def(), matmul_jacobian},
      {&max_pool_def(), max_pool_jacobian},
      {&avg_pool_def(), avg_pool_jacobian},
      {&batch_norm_inference_def(), batch_norm_jacobian},
      {&reshape_def(), reshape_jacobian},
      {&transpose_def(), transpose_jacobian},
      {&sum_def(), reduction_jacobian},
      {&mean_def(), reduction_jacobian},
  };
  if (is_elementwise(use.op.def())) {
    return elementwise_jacobian(use);
  }
  const auto found = rules.find(&use.op.def());
  return found == rules.end() ? BuildJacobian() : found->second(use);
}

bool keeps_examples_apart(const JacobianUse& use) {
  return std::ranges::all_of(use.inputs,
                             [&](int input) { return axes_kept_by(use.op, input) >= 1; });
}

bool fits_unit_vectors(const JacobianUse& use) {
  return use.op.num_outputs() == 1 && use.op.regions().empty() &&
         use.op.def().effect == Effect::none && !use.op.def().shape_from_data &&
         use.x_size() * use.y_size() <= kLargestFull && keeps_examples_apart(use);
}

// The unit vectors of an example of y along a new first axis, the same for all examples.
Var unit_vectors(const JacobianUse& use) {
  const std::int64_t size = use.y_size();
  std::vector<double> units(static_cast<std::size_t>(size * size));
  for (std::int64_t i = 0; i < size; ++i) {
    units[static_cast<std::size_t>(i * size + i)] = 1;
  }
  Shape shape = {size, 1};
  shape.insert(shape.end(), use.y_shape.begin(), use.y_shape.end());
  return constant(use.graph(), Tensor::of<double>(shape, units).cast(use.y.dtype()));
}

}  // namespace

// Gradients along a unit vector of y are a column of the transposed Jacobian. They are a region of
// their own, computed for all unit vectors at once.
SparseJacobian jacobian_by_unit_vectors(Op op, const std::vector<int>& inputs) {
  const std::optional<JacobianUse> use = JacobianUse::of(op, inputs);
  ensure(use.has_value(), "{} has no Jacobian of known size", op);
  Graph& graph = op.graph();
  RegionScope scope(graph);
  const Var direction = scope.param({use->y.dtype(), use->y.shape()});
  const RegionId region = scope.finish({use->gradient_along(op, direction)});
  std::vector<Mapped> arguments = {{unit_vectors(*use), true}};
  for (Var capture : scope.captures()) {
    arguments.push_back({capture, false});
  }
  const Dim size = use->y_size();
  const Var columns =
      with_mapped_axis(vmap_region(graph, region, arguments, size)[0], use->x.shape(), size);
  const Dim examples = use->x.dim(0);
  const Var rows = transpose(reshape(columns, {size, examples, use->x_size()}), {1, 2, 0});
  return make_jacobian(full_pattern(use->x_size(), use->y_size()),
                       reshape(rows, {examples, size * use->x_size()}));
}

bool has_jacobian_rule(Op op, const std::vector<int>& inputs) {
  const std::optional<JacobianUse> use = JacobianUse::of(op, inputs);
  return use && has_vjp(op.def()) && by_rule(*use);
}

BuildJacobian find_jacobian(Op op, const std::vector<int>& inputs) {
  const std::optional<JacobianUse> use = JacobianUse::of(op, inputs);
  if (!use || !has_vjp(op.def())) {
    return {};
  }
  if (BuildJacobian build = by_rule(*use)) {
    return build;
  }
  return fits_unit_vectors(*use)
             ? BuildJacobian([op, inputs] { return jacobian_by_unit_vectors(op, inputs); })
             : BuildJacobian();
}

}  // namespace antichain::scan
