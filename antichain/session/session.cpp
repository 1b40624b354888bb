#include "antichain/session/session.h"

#include "antichain/backends/cpu/cpu_backend.h"
#include "antichain/engines/backprop/backprop_engine.h"
#include "antichain/engines/forward/forward_engine.h"
#include "antichain/graph/evaluator.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/random.h"
#include "antichain/ops/state_ops.h"
#include "antichain/passes/simplify.h"
#include "antichain/session/within_budget.h"

namespace antichain {

namespace {

// A run that draws random numbers leaves another run number behind, so that the next one draws
// others.
void count_runs(GraphCopy& copy) {
  if (copy.graph->current_read(kRandomState).valid()) {
    const Var one_more = constant(*copy.graph, Tensor::of<std::int64_t>({2}, {0, 1}));
    copy.ops.push_back(add_update(*copy.graph, kRandomState, one_more).producer());
  }
}

std::unique_ptr<Backend> make_backend(Device device) {
  require<DeviceError>(device.kind == DeviceKind::cpu,
                       "device '{}' is not available: this build has the CPU backend only",
                       to_string(device));
  return make_cpu_backend();
}

}  // namespace

Session::Session(const SessionOptions& options)
    : Session(make_backend(parse_device(options.device)), options) {}

Session::Session(std::unique_ptr<Backend> backend, SessionOptions options)
    : options_(std::move(options)),
      engines_(std::make_shared<EngineSet>()),
      backend_(std::move(backend)) {
  engines_->add(make_backprop_engine());
  engines_->add(make_forward_engine());
  states_.set(kRandomState, Tensor::of<std::int64_t>({2}, {options_.seed, 0}));
}

Executable Session::compile(const std::vector<Var>& outputs, const CompileOptions& options) {
  std::vector<Var> roots = outputs;
  roots.insert(roots.end(), options.updates.begin(), options.updates.end());
  require(!roots.empty(), "compile: there is nothing to compute");
  for (Var root : roots) {
    require(root.valid() && &root.graph() == &roots[0].graph(),
            "compile: all values must be of one graph");
    require(root.graph().region_of(root) == kRootRegion,
            "compile: {} is inside a chain, loop or cond; return it from there", root.name());
  }
  Graph& graph = roots[0].graph();
  initialise_states(graph, roots);
  std::vector<Op> effects;
  for (Var update : options.updates) {
    effects.push_back(update.producer());
  }
  GraphCopy copy = simplify(graph, outputs, effects, {.rewrites = options.simplify});
  count_runs(copy);
  if (options.memory_budget) {
    copy = within_budget(std::move(copy), options, *backend_);
  }
  return Executable(std::move(copy.graph), copy.values, copy.ops, *backend_, backend_->kernels(),
                    logger(), states_);
}

void Session::initialise_states(Graph& graph, const std::vector<Var>& roots) {
  for (Op op : schedule(graph, roots)) {
    initialise_states_of(op);
  }
}

void Session::initialise_states_of(Op op) {
  for (const std::string& name : op.states()) {
    initialise_state(op.graph(), name);
  }
}

void Session::initialise_state(Graph& graph, const std::string& name) {
  const StateInfo& state = *graph.find_state(name);
  if (states_.contains(name)) {
    const Tensor& known = states_.get(name);
    require(known.dtype() == state.type.dtype && to_dims(known.shape()) == state.type.shape,
            "state '{}' has a value of {}{} in this session, the graph declares {}{}", name,
            antichain::name(known.dtype()), to_string(known.shape()),
            antichain::name(state.type.dtype), to_string(state.type.shape));
    return;
  }
  require(state.initial.valid(), "state '{}' has no value in this session and no initial one",
          name);
  if (graph.evaluator()) {  // in eager mode it is known
    states_.set(name, graph.evaluator()->value(state.initial).clone());
    return;
  }
  // The initial value may read states that were declared earlier; those come first.
  initialise_states(graph, {state.initial});
  for (Op needed : schedule(graph, std::vector<Var>{state.initial})) {
    require(&needed.def() != &input_def(),
            "state '{}' starts from input '{}', which has no value before a run; start it from "
            "something that needs no input",
            name, needed.output().name());
  }
  GraphCopy copy = simplify(graph, std::vector<Var>{state.initial}, {});
  const Executable evaluate(std::move(copy.graph), copy.values, {}, *backend_, backend_->kernels(),
                            logger(), states_);
  states_.set(name, evaluate({})[0]);
}

}  // namespace antichain
