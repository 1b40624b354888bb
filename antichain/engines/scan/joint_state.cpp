#include "antichain/engines/scan/joint_state.h"

#include "antichain/engines/scan/kept_axes.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::scan {

namespace {

// A matrix per step and position: beyond, they would not fit into memory for any number of steps.
constexpr std::int64_t kLargestSize = 1024;

Dims joined(const Dims& first, const Dims& second) {
  Dims all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

// The axes of a value in front of those of a part.
Dims leading(Var value, std::size_t rank) {
  const Dims& shape = value.shape();
  return {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(rank)};
}

}  // namespace

JointState::JointState(Op chain) {
  Graph& graph = chain.graph();
  const RegionInfo& body = graph.region(chain.regions()[0]);
  const Vars params = graph.vars(body.params), results = graph.vars(body.results);
  Vars before, after;
  for (int i = 0; i < ChainLayout(chain).states; ++i) {
    const Var state = params[static_cast<std::size_t>(1 + i)];
    if (is_float(state.dtype())) {
      same_type_ = same_type_ && (before.empty() || before[0].dtype() == state.dtype());
      before.push_back(state);
      after.push_back(results[static_cast<std::size_t>(i)]);
      parts.push_back({i, state.shape(), 0, 0});
    }
  }
  if (parts.empty()) {
    return;
  }
  const int kept = kept_axes(graph, chain.regions()[0], before, after);
  batch_axes.assign(parts[0].shape.begin(), parts[0].shape.begin() + kept);
  for (Part& part : parts) {
    part.offset = size;
    part.size = numel(Dims(part.shape.begin() + kept, part.shape.end()));
    size = size + part.size;
  }
}

std::string JointState::why_not() const {
  if (!same_type_) {
    return "its states have different element types";
  }
  if (!size.is_constant()) {
    return "its steps mix " + size.str() + " numbers of the state, and how many that is must be " +
           "known when the graph is built";
  }
  if (size.constant() > kLargestSize) {
    return "its steps mix " + size.str() + " numbers of the state, and Jacobians of so many do " +
           "not fit into memory";
  }
  return {};
}

Var JointState::join(const Vars& values) const {
  Vars rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Dims front = joined(leading(values[i], parts[i].shape.size()), batch_axes);
    rows.push_back(reshape(values[i], joined(front, {parts[i].size})));
  }
  return rows.size() == 1 ? rows[0] : concat(rows, -1);
}

Vars JointState::cut(Var joint) const {
  const Dims front = leading(joint, batch_axes.size() + 1);
  Vars values;
  for (const Part& part : parts) {
    const Var row =
        parts.size() == 1
            ? joint
            : slice(joint, {{.axis = -1, .start = part.offset, .stop = part.offset + part.size}});
    values.push_back(reshape(row, joined(front, part.shape)));
  }
  return values;
}

}  // namespace antichain::scan
