#include "antichain/session/initial_values.h"

#include <algorithm>
#include <unordered_set>

#include "antichain/graph/evaluator.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/passes/pipeline.h"
#include "antichain/runtime/executable.h"

namespace antichain {

namespace {

// An input has no value before a run.
void require_no_inputs(Graph& graph, std::span<const Var> initial,
                       std::span<const std::string> names) {
  for (Op op : schedule(graph, initial)) {
    if (&op.def() != &input_def()) {
      continue;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::vector<Op> needed = schedule(graph, initial.subspan(i, 1));
      require(std::find(needed.begin(), needed.end(), op) == needed.end(),
              "state '{}' starts from input '{}', which has no value before a run; start it from "
              "something that needs no input",
              names[i], op.output());
    }
  }
}

std::vector<Var> initial_values_of(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<Var> initial;
  for (const std::string& name : names) {
    initial.push_back(graph.find_state(name)->initial);
    require(initial.back().valid(), "state '{}' has no value in this session and no initial one",
            name);
  }
  return initial;
}

}  // namespace

InitialValues::InitialValues(std::shared_ptr<Backend> backend, std::shared_ptr<StateStore> states,
                             Logger logger)
    : backend_(std::move(backend)), states_(std::move(states)), logger_(std::move(logger)) {}

void InitialValues::give(Graph& graph, std::span<const Op> ops) const {
  std::vector<std::string> missing;
  std::unordered_set<std::string> seen;
  for (Op op : ops) {
    for (const std::string& name : op.states()) {
      if (seen.insert(name).second && !has_value(graph, name)) {
        missing.push_back(name);
      }
    }
  }
  compute(graph, std::move(missing));
}

bool InitialValues::has_value(const Graph& graph, const std::string& name) const {
  if (!states_->contains(name)) {
    return false;
  }
  const StateInfo& state = *graph.find_state(name);
  const Tensor& known = states_->get(name);
  if (known.dtype() != state.type.dtype || to_dims(known.shape()) != state.type.shape) {
    fail<InvalidArgument>("state '{}' has a value of {}{} in this session, the graph declares {}{}",
                          name, antichain::name(known.dtype()), to_string(known.shape()),
                          antichain::name(state.type.dtype), to_string(state.type.shape));
  }
  return true;
}

// All of them by one executable: a network has hundreds. Derived ones by another one behind it,
// which is kept: they are computed again and again.
void InitialValues::compute(Graph& graph, std::vector<std::string> names) const {
  if (names.empty()) {
    return;
  }
  // Initial values may read states that were declared earlier; those come first.
  give(graph, schedule(graph, initial_values_of(graph, names)));
  std::erase_if(names, [this](const std::string& name) { return states_->contains(name); });
  for (const bool is_derived : {false, true}) {
    std::vector<std::string> chosen;
    std::ranges::copy_if(names, std::back_inserter(chosen), [&](const std::string& name) {
      return graph.find_state(name)->is_derived == is_derived;
    });
    if (!chosen.empty()) {
      compute_together(graph, chosen, is_derived);
    }
  }
}

void InitialValues::compute_together(Graph& graph, const std::vector<std::string>& names,
                                     bool is_derived) const {
  const std::vector<Var> initial = initial_values_of(graph, names);
  if (graph.evaluator() && !is_derived) {  // in eager mode they are known
    for (std::size_t i = 0; i < names.size(); ++i) {
      states_->set(names[i], graph.evaluator()->value(initial[i]).clone());
    }
    return;
  }
  require_no_inputs(graph, initial, names);
  // The store keeps what derives its states, which so must not keep the store.
  const std::shared_ptr<StateStore> not_owned(std::shared_ptr<void>(), states_.get());
  GraphCopy copy = run_passes(graph, initial, {});
  const auto evaluate =
      std::make_shared<const Executable>(std::move(copy.graph), copy.values, std::span<const Op>(),
                                         backend_, backend_->kernels(), logger_, not_owned);
  if (is_derived) {
    states_->set_derived(names, [evaluate] { return (*evaluate)({}).tensors(); });
    return;
  }
  const Results found = (*evaluate)({});
  for (std::size_t i = 0; i < names.size(); ++i) {
    states_->set(names[i], found[i]);
  }
}

}  // namespace antichain
