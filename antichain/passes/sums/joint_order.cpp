#include "antichain/passes/sums/joint_order.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace antichain {

namespace {

// Whether an op may run later than it stands: it has no effect, and nobody but its readers knows
// what it finds.
bool is_movable(Op op) {
  return op.control_edges().empty() && op.def().effect == Effect::none && op.regions().empty() &&
         !op.def().shape_from_data;
}

class JointOrder {
 public:
  JointOrder(std::span<const JointSum> joints, std::span<const Op> ops)
      : joints_(joints), missing_(joints.size()) {
    std::unordered_set<OpId> known;  // others, inputs of the graph, are there
    for (Op op : ops) {
      known.insert(op.id());
    }
    for (std::size_t joint = 0; joint < joints.size(); ++joint) {
      for (const RowSum& sum : joints[joint].sums()) {
        sums_.insert(sum.op.id());
      }
      for (const std::vector<Var>& side : {joints[joint].lefts(), joints[joint].rights()}) {
        for (Var value : side) {
          if (!value.graph().is_region_param(value) && known.contains(value.producer().id())) {
            needed_by_[value.producer().id()].push_back(joint);
            ++missing_[joint];
          }
        }
      }
      if (missing_[joint] == 0) {
        ready_.push_back(joint);
      }
    }
    late_ = sums_;
    run_ready();
  }

  /// Returns whether the op runs now or later.
  bool add(Op op) {
    if (sums_.contains(op.id())) {
      return true;
    }
    if (!is_late(op)) {
      run(op);
      run_ready();
      return true;
    }
    late_.insert(op.id());
    waiting_.push_back(op);
    return is_movable(op);
  }

  bool is_complete() const { return late_.empty(); }
  std::vector<JointTurn> turns() && { return std::move(turns_); }

 private:
  bool is_late(Op op) const {
    return std::ranges::any_of(op.inputs(),
                               [this](Var input) {
                                 return !input.graph().is_region_param(input) &&
                                        late_.contains(input.producer().id());
                               }) ||
           std::ranges::any_of(op.control_edges(), [this](const ControlEdge& edge) {
             return late_.contains(edge.before);
           });
  }

  void run(Op op) {
    turns_.push_back({.op = op});
    arrive(op.id());
  }
  void arrive(OpId id) {
    late_.erase(id);
    if (const auto joints = needed_by_.find(id); joints != needed_by_.end()) {
      for (const std::size_t joint : joints->second) {
        if (--missing_[joint] == 0) {
          ready_.push_back(joint);
        }
      }
    }
  }
  void run_ready() {
    while (!ready_.empty()) {
      const std::size_t joint = ready_.back();
      ready_.pop_back();
      turns_.push_back({.joint = joint});
      for (const RowSum& sum : joints_[joint].sums()) {
        arrive(sum.op.id());
      }
      std::erase_if(waiting_, [this](Op op) {
        const bool runs = !is_late(op);
        if (runs) {
          run(op);
        }
        return runs;
      });
    }
  }

  std::span<const JointSum> joints_;
  std::unordered_map<OpId, std::vector<std::size_t>> needed_by_;  // by producers of matrices
  std::vector<std::size_t> missing_;                              // matrices, by joint sum
  std::vector<std::size_t> ready_;                                // joint sums
  std::unordered_set<OpId> sums_;                                 // of all joint sums
  std::unordered_set<OpId> late_;  // sums that are not there yet, and ops that wait for them
  std::vector<Op> waiting_;        // the latter, in order
  std::vector<JointTurn> turns_;
};

}  // namespace

std::optional<std::vector<JointTurn>> order_with(std::span<const JointSum> joints,
                                                 std::span<const Op> ops) {
  JointOrder order(joints, ops);
  for (Op op : ops) {
    if (!order.add(op)) {
      return std::nullopt;
    }
  }
  return order.is_complete() ? std::optional(std::move(order).turns()) : std::nullopt;
}

}  // namespace antichain
