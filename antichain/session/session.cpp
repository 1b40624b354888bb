#include "antichain/session/session.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "antichain/backends/cpu/cpu_backend.h"
#ifdef ANTICHAIN_HAS_CUDA
#include "antichain/backends/cuda/cuda_backend.h"
#endif
#include "antichain/base/code_cache.h"
#include "antichain/engines/backprop/backprop_engine.h"
#include "antichain/engines/forward/forward_engine.h"
#include "antichain/engines/hashing/hashing_engine.h"
#include "antichain/engines/scan/scan_engine.h"
#include "antichain/graph/evaluator.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/op_cost.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/scans/weighted_scan.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/passes/pipeline.h"
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

std::unique_ptr<Backend> make_backend(const SessionOptions& options) {
  const Device device = parse_device(options.device);
#ifdef ANTICHAIN_HAS_CUDA
  if (device.kind == DeviceKind::cuda) {
    return make_cuda_backend(device.index, {.tf32 = options.tf32});
  }
#endif
  require<DeviceError>(device.kind == DeviceKind::cpu,
                       "device '{}' is not available: this build has the CPU backend only",
                       to_string(device));
  return make_cpu_backend();
}

bool has_products(Op op) {
  bool found = false;
  for_each_work(op, {}, [&found](const OpWork& work) { found |= work.flops > 0; });
  return found;
}

template <class F>
bool any_op(Graph& graph, F f) {
  for (std::uint32_t i = 0; i < graph.num_ops(); ++i) {
    if (f(graph.op(OpId{i}))) {
      return true;
    }
  }
  return false;
}

// Engines that run their regions forward in their own way replace them first of all; derivatives
// have been built by then. Without a graph where there is no such engine.
GraphCopy run_forward_by_engines(Graph& graph, const std::vector<Var>& outputs,
                                 const std::vector<Op>& effects, const CompileOptions& options) {
  const EngineSet* const engines = graph.engines().get();
  if (!engines || !any_op(graph, [&](Op op) { return engines->replaces_forward(op); })) {
    return {nullptr, outputs, effects};
  }
  const ForwardContext context{.has_memory_budget = options.memory_budget.has_value()};
  return copy_graph(graph, outputs, effects,
                    replacing_ops([&](Op op) { return engines->forward(op, context); }));
}

ScanOptions scan_options(const Backend& backend, const Logger& logger) {
  const bool has_kernel = !backend.kernels().candidates(affine_scan_def()).empty();
  return {.when = has_kernel ? ScanWhen::where_faster : ScanWhen::never,
          .weighted = !backend.kernels().candidates(weighted_scan_def()).empty(),
          .device = backend.device().kind,
          .logger = logger};
}

// Said once, whatever number of sessions a process has.
void tell_of_refused_cache(const Logger& logger) {
  static std::atomic<bool> told = false;
  if (told.exchange(true)) {
    return;
  }
  if (const std::string refusal = code_cache_refusal(); !refusal.empty()) {
    logger.log(LogLevel::warning, "compiled code is not remembered: {}", refusal);
  }
}

}  // namespace

Session::Session(const SessionOptions& options) : Session(make_backend(options), options) {}

Session::Session(std::unique_ptr<Backend> backend, SessionOptions options)
    : options_(std::move(options)),
      engines_(std::make_shared<EngineSet>()),
      backend_(std::move(backend)),
      states_(std::make_shared<StateStore>()) {
  tell_of_refused_cache(options_.logger);
  engines_->add(make_backprop_engine());
  engines_->add(make_forward_engine());
  engines_->add(make_hashing_engine());
  engines_->add(make_scan_engine(scan_options(*backend_, options_.logger)));
  for (const EngineChoice& choice : options_.engines) {
    engines_->set_defaults(choice);
  }
  states_->set(kRandomState, Tensor::of<std::int64_t>({2}, {options_.seed, 0}));
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
  initialise_states(roots[0].graph(), roots);
  std::vector<Op> effects;
  for (Var update : options.updates) {
    effects.push_back(update.producer());
  }
  const GraphCopy source = run_forward_by_engines(roots[0].graph(), outputs, effects, options);
  Graph& graph = source.graph ? *source.graph : roots[0].graph();
  CompilerOptions compiler = options.compiler;
  if (!compiler.layout_gain) {
    compiler.layout_gain = [this](Op op) { return backend_->channels_last_gain(op); };
  }
  if (!compiler.is_missing && any_op(graph, [this](Op op) { return takes_apart(op); })) {
    compiler.is_missing = [this](Op op) { return takes_apart(op); };
  }
  // Both take memory: for what is stacked, and for gradients that wait for others.
  const bool few_kernels = backend_->wants_few_kernels() && !options.memory_budget;
  compiler.split_chains |= few_kernels;
  compiler.batch_updates |= few_kernels;
  compiler.recompute |= backend_->wants_few_kernels();
  PassLog log(compiler.dump_folder);
  GraphCopy copy = run_passes(graph, source.values, source.ops, compiler, log);
  count_runs(copy);
  if (options.memory_budget) {
    log.time(passes().size() + 1, "memory-budget", [&] {
      copy = within_budget(std::move(copy), options, *backend_);
      return copy.graph.get();
    });
  }
  if (log.is_on()) {
    log.finish();
    logger().log(LogLevel::info, "passes, in {}:\n{}", log.folder().string(), log.table());
  }
  Executable executable(std::move(copy.graph), copy.values, copy.ops, backend_, backend_->kernels(),
                        logger(), states_);
  // Steps that run at the same time keep what they work on in memory at the same time.
  executable.set_parallel_steps(!options.memory_budget &&
                                is_enabled(kParallelSteps, options.compiler));
  return executable;
}

std::string Session::explain(Op op, const DimEnv& sizes) const {
  const bool is_known = std::ranges::all_of(  // otherwise only a run knows
      op.inputs(), [&sizes](Var input) { return is_bound(input.shape(), sizes); });
  return is_known ? backend_->explain(op, sizes) : std::string();
}

bool Session::takes_apart(Op op) const {
  const KernelTable& kernels = backend_->kernels();
  if (!op.def().decompose || op.def().on_any_device) {
    return false;
  }
  if (backend_->device() != Device{}) {
    return !kernels.has_kernel(op);
  }
  return kernels.candidates(op.def()).empty() && has_products(op);
}

void Session::initialise_states(Graph& graph, const std::vector<Var>& roots) {
  std::vector<std::string> missing;
  std::unordered_set<std::string> seen;
  for (Op op : schedule(graph, roots)) {
    for (const std::string& name : op.states()) {
      if (seen.insert(name).second && !has_value(graph, name)) {
        missing.push_back(name);
      }
    }
  }
  initialise(graph, std::move(missing));
}

void Session::initialise_states_of(Op op) {
  for (const std::string& name : op.states()) {
    if (!has_value(op.graph(), name)) {
      initialise(op.graph(), {name});
    }
    const Tensor value = states_->get(name);
    states_->declare(name, value.dtype(), value.shape());
  }
}

bool Session::has_value(const Graph& graph, const std::string& name) const {
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

// All of them by one executable: a network has hundreds.
void Session::initialise(Graph& graph, std::vector<std::string> names) {
  if (names.empty()) {
    return;
  }
  std::vector<Var> initial;
  for (const std::string& name : names) {
    initial.push_back(graph.find_state(name)->initial);
    require(initial.back().valid(), "state '{}' has no value in this session and no initial one",
            name);
  }
  if (graph.evaluator()) {  // in eager mode it is known
    for (std::size_t i = 0; i < names.size(); ++i) {
      states_->set(names[i], graph.evaluator()->value(initial[i]).clone());
    }
    return;
  }
  // Initial values may read states that were declared earlier; those come first.
  initialise_states(graph, initial);
  initial.clear();
  std::erase_if(names, [this](const std::string& name) { return states_->contains(name); });
  for (const std::string& name : names) {
    initial.push_back(graph.find_state(name)->initial);
  }
  require_no_inputs(graph, initial, names);
  // The store keeps what derives its states, which so must not keep the store.
  const std::shared_ptr<StateStore> not_owned(std::shared_ptr<void>(), states_.get());
  // Derived ones by themselves, behind the others: they are computed again and again.
  for (const bool is_derived : {false, true}) {
    std::vector<std::string> chosen;
    std::vector<Var> values;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (graph.find_state(names[i])->is_derived == is_derived) {
        chosen.push_back(names[i]);
        values.push_back(initial[i]);
      }
    }
    if (chosen.empty()) {
      continue;
    }
    GraphCopy copy = run_passes(graph, values, {});
    const auto evaluate = std::make_shared<const Executable>(
        std::move(copy.graph), copy.values, std::span<const Op>(), backend_, backend_->kernels(),
        logger(), not_owned);
    if (is_derived) {
      states_->set_derived(chosen, [evaluate] { return (*evaluate)({}).tensors(); });
      continue;
    }
    const Results found = (*evaluate)({});
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      states_->set(chosen[i], found[i]);
    }
  }
}

}  // namespace antichain
