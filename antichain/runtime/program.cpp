#include "antichain/runtime/program.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "antichain/graph/traversal.h"

namespace antichain {

namespace {

// Moves each write of a state behind the readers of the value that it replaces, where the order is
// open: then nobody holds that value any more, and its memory is written again.
std::vector<Op> with_writes_after_readers(std::vector<Op> ops) {
  std::unordered_map<OpId, std::size_t> position;
  for (std::size_t n = 0; n < ops.size(); ++n) {
    position[ops[n].id()] = n;
  }
  // Positions of the last reader of what an op makes, views included, and of the first op that
  // must come after it.
  std::vector<std::size_t> last_reader(ops.size()), first_dependent(ops.size(), ops.size());
  for (std::size_t n = ops.size(); n-- > 0;) {
    const std::size_t reach = ops[n].def().view ? std::max(n, last_reader[n]) : n;
    for (Var input : ops[n].inputs()) {
      if (input.graph().is_region_param(input)) {
        continue;
      }
      if (const auto made = position.find(input.producer().id()); made != position.end()) {
        last_reader[made->second] = std::max(last_reader[made->second], reach);
        first_dependent[made->second] = n;
      }
    }
    for (const ControlEdge& edge : ops[n].control_edges()) {
      if (const auto before = position.find(edge.before); before != position.end()) {
        first_dependent[before->second] = n;
      }
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> order;  // (where it goes, where it was)
  for (std::size_t n = 0; n < ops.size(); ++n) {
    std::size_t target = n;
    if (ops[n].def().effect == Effect::writes_state) {
      for (const ControlEdge& edge : ops[n].control_edges()) {
        if (const auto before = position.find(edge.before); before != position.end()) {
          target = std::max(target, last_reader[before->second]);
        }
      }
      target = target < first_dependent[n] ? target : n;
    }
    order.emplace_back(target, n);
  }
  // A write lands behind the op at its new position, which was there before it.
  using Entry = std::pair<std::size_t, std::size_t>;
  std::ranges::stable_sort(order, [](const Entry& a, const Entry& b) {
    const bool moved_a = a.first != a.second, moved_b = b.first != b.second;
    return std::pair(a.first, moved_a) < std::pair(b.first, moved_b);
  });
  std::vector<Op> result;
  result.reserve(ops.size());
  for (const auto& entry : order) {
    result.push_back(ops[entry.second]);
  }
  return result;
}

}  // namespace

Program::Program(Graph& graph, std::span<const Var> params, std::span<const Var> results,
                 std::span<const Op> effects, const KernelTable& kernels, const Logger& logger) {
  std::unordered_set<VarId> given;
  for (Var param : params) {
    params_.push_back(slot_of(param));
    given.insert(param.id());
  }
  for (Op op : with_writes_after_readers(schedule(graph, results, effects))) {
    // Inputs of the root region are parameters, not steps.
    if (op.num_outputs() == 0 || !given.contains(op.output().id())) {
      steps_.push_back(make_step(op, kernels, logger));
    }
  }
  for (Var result : results) {
    results_.push_back(slot_of(result));
  }
  find_readers();
}

Program::Slot Program::slot_of(Var value) {
  const auto [found, is_new] = slots_.try_emplace(value.id(), static_cast<Slot>(values_.size()));
  if (is_new) {
    values_.push_back(value);
  }
  return found->second;
}

Program::Step Program::make_step(Op op, const KernelTable& kernels, const Logger& logger) {
  Step step{.runner = OpRunner(op, kernels, logger)};
  for (Var input : op.inputs()) {
    step.inputs.push_back(slot_of(input));
  }
  for (Var output : op.outputs()) {
    step.outputs.push_back(slot_of(output));
  }
  return step;
}

void Program::find_readers() {
  std::vector<bool> needed(values_.size());
  takes_strides_.assign(values_.size(), true);
  for (Slot slot : results_) {
    needed[slot] = true;
    takes_strides_[slot] = false;
  }
  for (const Step& step : steps_) {
    for (Slot slot : step.inputs) {
      needed[slot] = true;
      takes_strides_[slot] = takes_strides_[slot] && step.runner.kernel().strided_inputs;
    }
  }
  for (Step& step : steps_) {
    for (Slot slot : step.outputs) {
      step.wanted.push_back(needed[slot]);
    }
  }
}

std::size_t Program::num_steps() const {
  std::size_t count = steps_.size();
  for (const Step& step : steps_) {
    for (const Program& region : step.runner.regions()) {
      count += region.num_steps();
    }
  }
  return count;
}

}  // namespace antichain
