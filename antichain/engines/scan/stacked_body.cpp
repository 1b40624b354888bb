#include "antichain/engines/scan/stacked_body.h"

#include "antichain/autodiff/walk.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::scan {

std::string why_not_stacked(Op chain) {
  const std::string reason = why_not_vmap(chain.graph(), chain.regions()[0]);
  return reason.empty() ? JointState(chain).why_not() : reason;
}

StackedBody::StackedBody(Op chain, const Vars& before) : steps_(chain, before), joint_(chain) {
  for (const JointState::Part& part : joint_.parts) {
    before_.push_back(steps_.argument(part.state));
  }
}

Vars StackedBody::after() const {
  Vars values;
  for (const JointState::Part& part : joint_.parts) {
    values.push_back(steps_.after(part.state));
  }
  return values;
}

// The unit vectors that belong to a part, along a new first axis. They are the same in all steps
// and batch axes, and have size 1 there: so products with a weight are the weight itself, and what
// follows them is element-wise.
Var StackedBody::unit_vectors(std::size_t part) const {
  const JointState::Part& own = joint_.parts[part];
  const std::int64_t size = joint_.size.constant(), columns = own.size.constant();
  std::vector<float> units(static_cast<std::size_t>(size * columns));
  for (std::int64_t i = 0; i < columns; ++i) {
    units[static_cast<std::size_t>((own.offset.constant() + i) * columns + i)] = 1;
  }
  Dims shape(2 + joint_.batch_axes.size(), Dim(1));
  shape[0] = size;
  shape.insert(shape.end(),
               own.shape.begin() + static_cast<std::ptrdiff_t>(joint_.batch_axes.size()),
               own.shape.end());
  const Tensor matrix = Tensor::of<float>({size, columns}, units).cast(before_[part].dtype());
  return reshape(constant(before_[part].graph(), matrix), shape);
}

// A column of a Jacobian is how the states move along a unit vector. That is a region of its own,
// computed for all unit vectors at once: what does not depend on them is computed once.
Var StackedBody::transposed_jacobians() const {
  const Op chain = steps_.chain();
  Graph& graph = chain.graph();
  std::vector<Mapped> arguments;
  RegionScope scope(graph);
  Vars tangents;
  for (Var before : before_) {
    tangents.push_back(scope.param({before.dtype(), before.shape()}));
  }
  const std::vector<Mapped> results =
      vmap_region(graph, chain.regions()[0], steps_.arguments(), steps_.length());
  Vars after;
  for (const JointState::Part& part : joint_.parts) {
    after.push_back(with_mapped_axis(results[static_cast<std::size_t>(part.state)], part.shape,
                                     steps_.length()));
  }
  Vars moved = walk_forward(graph, captured_here(graph, before_), tangents, after);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i] = moved[i].valid() ? moved[i] : zeros_like(before_[i]);
  }
  const RegionId region = scope.finish(moved);
  for (std::size_t i = 0; i < joint_.parts.size(); ++i) {
    arguments.push_back({unit_vectors(i), true});
  }
  for (Var capture : scope.captures()) {
    arguments.push_back({capture, false});
  }
  const std::vector<Mapped> columns = vmap_region(graph, region, arguments, joint_.size);
  Vars rows;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    rows.push_back(with_mapped_axis(columns[i], before_[i].shape(), joint_.size));
  }
  const Var all = joint_.join(rows);
  return joint_.is_diagonal() ? squeeze(all, 0) : move_axis(all, 0, -2);
}

}  // namespace antichain::scan
