#include "antichain/passes/fusion/batch_updates.h"

#include <algorithm>
#include <unordered_set>

#include "antichain/ops/state/update_ops.h"
#include "antichain/passes/fusion/launch_cost.h"

namespace antichain {

namespace {

bool is_small_update(Op op) {
  static const std::vector<const OpDef*> rules = update_family();
  return std::ranges::find(rules, &op.def()) != rules.end() && op.num_outputs() == 1 &&
         is_shorter_than_a_launch(op.output());
}

// Numbers and when.
bool have_equal_numbers(Op a, Op b) { return a.input(1) == b.input(1) && a.input(2) == b.input(2); }

// Copies the ops of one region and holds updates back until somebody needs one of them.
class UpdateBatches {
 public:
  explicit UpdateBatches(Cloner& cloner) : cloner_(cloner) {}

  void copy(Op op) {
    if (needs_waiting(op)) {
      copy_waiting();
    }
    if (!is_small_update(op)) {
      cloner_.copy(op);
      return;
    }
    waiting_.insert(op.id());
    const auto batch = std::ranges::find_if(batches_, [op](const std::vector<Op>& updates) {
      const Op other = updates[0];
      return &other.def() == &op.def() && other.output().dtype() == op.output().dtype() &&
             have_equal_numbers(other, op);
    });
    if (batch != batches_.end()) {
      batch->push_back(op);
    } else {
      batches_.push_back({op});
    }
  }

  void copy_waiting() {
    for (const std::vector<Op>& updates : batches_) {
      if (updates.size() == 1) {
        cloner_.copy(updates[0]);
      } else {
        copy_batch(updates);
      }
    }
    batches_.clear();
    waiting_.clear();
  }

 private:
  bool needs_waiting(Op op) const {
    const std::vector<Var> inputs = op.inputs();
    return std::ranges::any_of(inputs,
                               [&](Var input) {
                                 return !input.graph().is_region_param(input) &&
                                        waiting_.contains(input.producer().id());
                               }) ||
           std::ranges::any_of(op.control_edges(), [&](const ControlEdge& edge) {
             return waiting_.contains(edge.before);
           });
  }

  void copy_batch(const std::vector<Op>& updates) {
    std::vector<std::vector<std::string>> states;
    std::vector<Var> inputs;
    for (Op update : updates) {
      states.push_back(updated_states(update.attrs())[0]);
      inputs.push_back(cloner_(update.input(0)));
    }
    inputs.push_back(cloner_(updates[0].input(1)));
    inputs.push_back(cloner_(updates[0].input(2)));
    const Op batch = cloner_.copy_together(updates, inputs, update_attributes(states));
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const Var original = updates[i].output(), copy = batch.output(static_cast<int>(i));
      cloner_.map(original, copy);
      if (original.has_name() && !copy.has_name()) {
        cloner_.target().set_name(copy, original.name());
      }
    }
  }

  Cloner& cloner_;
  std::vector<std::vector<Op>> batches_;
  std::unordered_set<OpId> waiting_;  // the updates of all batches
};

}  // namespace

GraphCopy batch_updates(const GraphCopy& source) {
  return copy_graph(source,
                    {.copy_ops = [](Cloner& cloner, std::span<const Op> ops, std::span<const Var>) {
                      UpdateBatches batches(cloner);
                      for (Op op : ops) {
                        batches.copy(op);
                      }
                      batches.copy_waiting();
                    }});
}

}  // namespace antichain
