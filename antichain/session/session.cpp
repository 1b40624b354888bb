#include "antichain/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "antichain/backends/cpu/cpu_backend.h"
#ifdef ANTICHAIN_HAS_CUDA
#include "antichain/backends/cuda/cuda_backend.h"
#endif
#include "antichain/base/code_cache.h"
#include "antichain/engines/backprop/backprop_engine.h"
#include "antichain/engines/forward/forward_engine.h"
#include "antichain/engines/hashing/hashing_engine.h"
#include "antichain/engines/likelihood/likelihood_engine.h"
#include "antichain/engines/multigrid/multigrid_engine.h"
#include "antichain/engines/scan/scan_engine.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/scans/weighted_scan.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/passes/pipeline.h"
#include "antichain/passes/simplify/row_gradients.h"
#include "antichain/session/device_passes.h"
#include "antichain/session/engine_forward.h"
#include "antichain/session/initial_values.h"
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

ScanOptions scan_options(const Backend& backend, const Logger& logger) {
  const bool has_kernel = !backend.kernels().candidates(affine_scan_def()).empty();
  return {.when = has_kernel ? ScanWhen::where_faster : ScanWhen::never,
          .weighted = !backend.kernels().candidates(weighted_scan_def()).empty(),
          .device = backend.device().kind,
          .logger = logger};
}

// Whether a device has a kernel for an op, with the reason of the last one that refuses.
Support kernel_support(const Backend& backend, Op op) {
  Support support = Support::no("the device has no kernel for " + op.def().name);
  for (const Kernel& kernel : backend.kernels().candidates(op.def())) {
    support = kernel.supports(op);
    if (support.yes) {
      break;
    }
    support.reason =
        fmt::format("the device has no kernel for {}: {}", op.def().name, support.reason);
  }
  return support;
}

HashingDevice hashing_device(const std::shared_ptr<Backend>& backend) {
  HashingDevice device{.kind = backend->device().kind, .takes_whole_steps = backend->records()};
  if (device.kind != DeviceKind::cpu) {  // whose references are no slower than elsewhere
    device.computes = [backend](Op op) { return kernel_support(*backend, op); };
  }
  return device;
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
      states_(std::make_shared<StateStore>()),
      initial_values_(std::make_shared<InitialValues>(backend_, states_, options_.logger)) {
  tell_of_refused_cache(options_.logger);
  engines_->add(make_backprop_engine());
  engines_->add(make_forward_engine());
  engines_->add(make_hashing_engine(hashing_device(backend_)));
  engines_->add(make_likelihood_engine());
  engines_->add(make_multigrid_engine());
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
  initial_values_->give(roots[0].graph(), schedule(roots[0].graph(), roots));
  std::vector<Op> effects;
  for (Var update : options.updates) {
    effects.push_back(update.producer());
  }
  const GraphCopy source =
      run_forward_by_engines(roots[0].graph(), outputs, effects,
                             {.has_memory_budget = options.memory_budget.has_value(),
                              .keeps_reports = !options.updates.empty()});
  Graph& graph = source.graph ? *source.graph : roots[0].graph();
  if (source.graph) {  // engines have states of their own: what they report
    initial_values_->give(graph, schedule(graph, source.values, source.ops));
  }
  for (const std::string& sentence : row_gradients_of_chains(source.ops)) {
    logger().log(LogLevel::warning, "{}", sentence);
  }
  const CompilerOptions compiler =
      for_device(options.compiler, graph, *backend_, options.memory_budget.has_value());
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

bool Session::takes_apart(Op op) const { return is_taken_apart(op, *backend_); }

void Session::initialise_states_of(Op op) {
  initial_values_->give(op.graph(), {&op, 1});
  for (const std::string& name : op.states()) {
    const Tensor value = states_->get(name);
    states_->declare(name, value.dtype(), value.shape());
  }
}

}  // namespace antichain
