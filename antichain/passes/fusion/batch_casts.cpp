#include "antichain/passes/fusion/batch_casts.h"

#include <map>
#include <unordered_set>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise/cast_all.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/passes/fusion/launch_cost.h"

namespace antichain {

namespace {

bool is_small_cast(Op op) {
  return &op.def() == &cast_def() && op.control_edges().empty() &&
         is_shorter_than_a_launch(op.output());
}

bool is_first_read(Op op) { return &op.def() == &state_read_def() && op.control_edges().empty(); }

// Whether a value is there when a run begins.
bool is_there(Var value) {
  return &value.producer().def() == &input_def() || is_first_read(value.producer());
}

// Copies the ops of one region and holds conversions back until somebody needs one of them.
class CastBatches {
 public:
  explicit CastBatches(Cloner& cloner) : cloner_(cloner) {}

  void hold(Op op) {
    waiting_.insert(op.id());
    batches_[{op.input(0).dtype(), op.output().dtype()}].push_back(op);
  }

  void copy(Op op) {
    for (Var input : op.inputs()) {
      if (!input.graph().is_region_param(input) && waiting_.contains(input.producer().id())) {
        copy_waiting();
      }
    }
    if (is_small_cast(op)) {
      hold(op);
    } else {
      cloner_.copy(op);
    }
  }

  void copy_waiting() {
    for (const auto& [types, casts] : batches_) {
      if (casts.size() == 1) {
        cloner_.copy(casts[0]);
      } else {
        copy_batch(casts, types.second);
      }
    }
    batches_.clear();
    waiting_.clear();
  }

 private:
  void copy_batch(const std::vector<Op>& casts, DType dtype) {
    Vars inputs;
    for (Op op : casts) {
      inputs.push_back(cloner_(op.input(0)));
    }
    const Vars results = cast_all(inputs, dtype, casts[0].location());
    for (std::size_t i = 0; i < casts.size(); ++i) {
      const Var original = casts[i].output();
      cloner_.map(original, results[i]);
      if (original.has_name() && !results[i].has_name()) {
        cloner_.target().set_name(results[i], original.name());
      }
    }
  }

  Cloner& cloner_;
  std::map<std::pair<DType, DType>, std::vector<Op>> batches_;
  std::unordered_set<OpId> waiting_;  // the conversions of all batches
};

void copy_in_batches(Cloner& cloner, std::span<const Op> ops, std::span<const Var>) {
  CastBatches batches(cloner);
  std::unordered_set<OpId> done;
  const bool is_root = !ops.empty() && cloner.source().region_of(ops[0]) == kRootRegion;
  for (Op op : is_root ? ops : std::span<const Op>()) {
    if (is_small_cast(op) && is_there(op.input(0))) {
      const Op read = op.input(0).producer();
      if (is_first_read(read) && done.insert(read.id()).second) {
        cloner.copy(read);
      }
      batches.hold(op);
      done.insert(op.id());
    }
  }
  batches.copy_waiting();
  for (Op op : ops) {
    if (!is_root) {
      cloner.copy(op);
    } else if (!done.contains(op.id())) {
      batches.copy(op);
    }
  }
  batches.copy_waiting();
}

}  // namespace

GraphCopy batch_casts(const GraphCopy& source) {
  return copy_graph(source, {.copy_ops = copy_in_batches});
}

}  // namespace antichain
