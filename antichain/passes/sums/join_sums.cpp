#include "antichain/passes/sums/join_sums.h"

#include "antichain/ops/products/row_products.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/passes/sums/joint_order.h"
#include "antichain/passes/sums/joint_sum.h"
#include "antichain/passes/sums/row_sums.h"

namespace antichain {

namespace {

// The columns of a matrix among those of all that stand beside it.
SliceRange columns_of(const std::vector<Var>& side, Var matrix, std::int64_t axis) {
  Dim first = 0;
  for (Var value : side) {
    if (value == matrix) {
      break;
    }
    first = first + value.dim(-1);
  }
  return {axis, first, first + (matrix.valid() ? matrix.dim(-1) : Dim(1))};
}

void copy_joint(Cloner& cloner, const JointSum& joint) {
  const Op first = joint.sums()[0].op;
  const LocationGuard location(cloner.target(), first.location(), /*force=*/true);
  const std::vector<Var> lefts = joint.lefts(), rights = joint.rights();
  const auto as_matrices = [&](const std::vector<Var>& values) {
    std::vector<Var> matrices = cloner(values);
    for (Var& matrix : matrices) {
      matrix = reshape(matrix, {num_rows(matrix), matrix.dim(-1)});
    }
    return matrices;
  };
  const Var all = row_products(as_matrices(lefts), as_matrices(rights), joint.has_ones());
  for (const RowSum& sum : joint.sums()) {
    const Var part = slice(all, {columns_of(lefts, sum.left, 0), columns_of(rights, sum.right, 1)});
    const Var result = sum.op.output();
    const Var copy = reshape(sum.swapped ? transpose(part) : part, result.shape());
    cloner.map(result, copy);
    if (result.has_name() && !copy.has_name()) {
      cloner.target().set_name(copy, result.name());
    }
  }
}

void copy_joining_sums(Cloner& cloner, std::span<const Op> ops, std::span<const Var>) {
  const std::vector<JointSum> joints = find_joint_sums(ops);
  const std::optional<std::vector<JointTurn>> turns = order_with(joints, ops);
  ensure(turns.has_value(), "sums were joined that cannot be");
  for (const JointTurn& turn : *turns) {
    if (turn.op.valid()) {
      cloner.copy(turn.op);
    } else {
      copy_joint(cloner, joints[turn.joint]);
    }
  }
}

}  // namespace

GraphCopy join_sums(const GraphCopy& source) {
  const auto is_product = [](Op op) {
    const std::optional<RowSum> sum = row_sum_of(op);
    return sum && sum->is_product();
  };
  return has_op(*source.graph, is_product) ? copy_graph(source, {.copy_ops = copy_joining_sums})
                                           : copy_graph(source, CopyRules{});
}

}  // namespace antichain
