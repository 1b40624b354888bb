#include "antichain/engines/scan/scan_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/engines/scan/newton_forward.h"
#include "antichain/engines/scan/stack_walk.h"
#include "antichain/engines/scan/stacked_steps.h"
#include "antichain/engines/scan/walk_choice.h"
#include "antichain/engines/scan/weighted_jacobian.h"
#include "antichain/graph/clone.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

namespace {

using scan::JointState;
using scan::StackedSteps;
using scan::StackWalk;

bool is_stack(Op region_op) { return &region_op.def() == &call_def(); }

Vars marked(const Vars& values, const std::vector<bool>& marks) {
  Vars chosen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (marks[i]) {
      chosen.push_back(values[i]);
    }
  }
  return chosen;
}

// The stages of a call, differentiated by the inputs that are marked.
StackWalk stages_of(Op call, const std::vector<bool>& needed) {
  Graph& graph = call.graph();
  const RegionInfo& body = graph.region(call.regions()[0]);
  return {graph, marked(graph.vars(body.params), needed), graph.vars(body.results)[0]};
}

std::string why_not_staged(Op call, const std::vector<bool>& needed) {
  if (call.num_outputs() != 1) {
    return fmt::format("it has {} results, and stages lead to one", call.num_outputs());
  }
  return stages_of(call, needed).num_scanned() > 0
             ? std::string()
             : "there are no two stages in a row whose Jacobians are sparse matrices of known size";
}

// As options have it.
constexpr const char *kAuto = "auto", *kAlways = "always", *kFaster = "faster", *kNever = "never";
constexpr const char *kStepByStep = "serial", *kNewton = "newton";

std::vector<OptionSpec> scan_option_specs(const ScanOptions& fallbacks) {
  return {
      {.name = "when",
       .kind = OptionKind::choice,
       .fallback = kAuto,
       .doc = "when to scan instead of walking back step by step; auto: where it is faster, and "
              "always where an algorithm is named",
       .choices = {kAuto, kAlways, kFaster, kNever}},
      {.name = "algorithm",
       .kind = OptionKind::choice,
       .fallback = fallbacks.algorithm.empty() ? kAuto : fallbacks.algorithm,
       .doc = "how a scan is computed; auto: in the way that is fastest for its sizes",
       .choices = {kAuto, kScanSerial, kScanBlelloch, kScanHybrid, kScanChunked}},
      {"chunk", OptionKind::integer, std::to_string(fallbacks.chunk),
       "steps that the algorithms hybrid and chunked keep together; 0: chosen", 0, 1e9},
      {.name = "forward",
       .kind = OptionKind::choice,
       .fallback = kStepByStep,
       .doc = "how the states of a chain are found; newton: all steps at once, by Newton's method",
       .choices = {kStepByStep, kNewton}},
      {"tolerance", OptionKind::number, "0",
       "of newton: how far a state may be from what its step makes of the one before, as a part of "
       "the largest; 0: what the element type allows",
       0, 1},
      {"iterations", OptionKind::integer, "16",
       "of newton, at most; then the steps run one by one after all", 1, 1e6},
  };
}

std::vector<bool> float_inputs(Op op) {
  std::vector<bool> floats;
  for (Var input : op.inputs()) {
    floats.push_back(is_float(input.dtype()));
  }
  return floats;
}

class ScanEngine final : public GradientEngine {
 public:
  explicit ScanEngine(ScanOptions fallbacks)
      : fallbacks_(std::move(fallbacks)), newton_(fallbacks_.logger) {}

  std::string_view name() const override { return "scan"; }
  bool scans_recurrences() const override { return true; }
  std::string_view summary() const override {
    return "chains, and stages of other models, as a parallel scan over their Jacobians";
  }
  Guarantee guarantee() const override { return Guarantee::exact; }
  std::vector<OptionSpec> options() const override { return scan_option_specs(fallbacks_); }

  bool replaces_forward(const Settings& settings) const override {
    return settings.text("forward") == kNewton;
  }
  std::optional<Vars> forward(Op region_op, const ForwardContext& context) const override {
    if (&region_op.def() != &chain_def()) {
      return std::nullopt;
    }
    const Settings settings = this->settings(region_op);
    const ScanOptions scan = options_of(settings);
    return newton_.outputs(region_op,
                           {.algorithm = scan.algorithm,
                            .chunk = scan.chunk,
                            .tolerance = settings.number("tolerance"),
                            .iterations = settings.integer("iterations")},
                           context);
  }

  Support supports(Op region_op, const std::vector<bool>& needed) const override {
    if (&region_op.def() != &chain_def() && !is_stack(region_op)) {
      return Support::no("it is no chain and no call");
    }
    std::string reason;
    if (options_of(settings(region_op)).when == ScanWhen::always) {
      reason = is_stack(region_op) ? why_not_staged(region_op, needed)
                                   : scan::why_not_stacked(region_op);
    }
    return reason.empty() ? Support{} : Support::no(reason);
  }

  std::string explain(Op region_op) const override {
    const ScanOptions options = options_of(settings(region_op));
    return is_stack(region_op) && options.when == ScanWhen::where_faster
               ? stages_explained(region_op)
               : choose(region_op, options).reason;
  }

  std::vector<Var> differentiate(VjpContext& context) const override {
    const Op chain = context.op();
    const ScanOptions options = options_of(settings(chain));
    if (!choose(chain, options).by_scan) {
      return chain.def().vjp(context);
    }
    if (is_stack(chain)) {
      return differentiate_stack(context, options);
    }
    const StackedSteps steps(context);
    const JointState& joint = steps.joint();
    Vars grads(static_cast<std::size_t>(chain.num_inputs())), after(joint.parts.size());
    if (!joint.parts.empty()) {
      const AffineScanOptions algorithm{.reverse = !chain.attrs().get<bool>("reverse"),
                                        .algorithm = options.algorithm,
                                        .chunk = options.chunk};
      const AffineScan found = is_weighted(chain, options) ? scan_of_weights(steps, algorithm)
                                                           : scan_of_matrices(steps, algorithm);
      // On the way back, the state after a step comes before it.
      after = joint.cut(found.before);
      const Vars first = joint.cut(found.last);
      for (std::size_t i = 0; i < first.size(); ++i) {
        grads[static_cast<std::size_t>(joint.parts[i].state)] = first[i];
      }
    }
    add_input_gradients(context, steps.body().steps(), after, grads);
    return grads;
  }

 private:
  ScanOptions options_of(const Settings& settings) const {
    ScanOptions options = fallbacks_;
    const std::string &algorithm = settings.text("algorithm"), &when = settings.text("when");
    options.algorithm = algorithm == kAuto ? "" : algorithm;
    options.chunk = settings.integer("chunk");
    require(options.chunk == 0 || algorithm == kScanHybrid || algorithm == kScanChunked,
            "the option chunk of engine 'scan' is for algorithm=hybrid and algorithm=chunked");
    if (when == kAuto) {
      const bool is_named = options.algorithm != fallbacks_.algorithm;
      options.when = is_named ? ScanWhen::always : fallbacks_.when;
    } else {
      options.when = when == kAlways ? ScanWhen::always
                                     : (when == kNever ? ScanWhen::never : faster_or_never());
    }
    return options;
  }

  // Where the device has no kernel for scans, nothing is faster than steps.
  ScanWhen faster_or_never() const {
    return fallbacks_.when == ScanWhen::never ? ScanWhen::never : ScanWhen::where_faster;
  }

  // The body is built again where the rule stands, as back-propagation does.
  static std::vector<Var> differentiate_stack(const VjpContext& context,
                                              const ScanOptions& options) {
    Graph& graph = context.graph();
    std::vector<bool> needed;
    for (int i = 0; i < context.num_inputs(); ++i) {
      needed.push_back(context.needs(i));
    }
    const Vars inputs = captured_here(graph, context.op().inputs());
    const Var end = inline_region(graph, context.op().regions()[0], inputs)[0];
    const Vars found = StackWalk(graph, marked(inputs, needed), end)
                           .gradients(context.grad(), options.algorithm, options.chunk);
    Vars grads(inputs.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      grads[i] = needed[i] ? found[next++] : Var();
    }
    return grads;
  }

  static AffineScan scan_of_matrices(const StackedSteps& steps, const AffineScanOptions& options) {
    const Var added = steps.local_gradients();
    return affine_scan(
        steps.body().transposed_jacobians(),
        added.valid() ? added : zeros_like(steps.joint().join(steps.body().before())),
        steps.last_gradient(), options);
  }

  static AffineScan scan_of_weights(const StackedSteps& steps, const AffineScanOptions& options) {
    const scan::StackedBody& body = steps.body();
    const scan::WeightedJacobian jacobian =
        scan::weighted_jacobian(body.joint(), body.before(), body.after());
    return weighted_scan(jacobian.form,
                         {.weights = stack(jacobian.weights, 0),
                          .initial = steps.last_gradient(),
                          .diagonals = jacobian.diagonals,
                          .coefficients = jacobian.coefficients,
                          .b = steps.local_gradients()},
                         options);
  }

  // Whether the kernel for weighted scans is there and takes the steps of a chain.
  static bool is_weighted(Op region_op, const ScanOptions& options) {
    return options.weighted && !is_stack(region_op) && is_for_gpus(options) &&
           scan::why_not_stacked(region_op).empty() && scan::why_not_weighted(region_op).empty();
  }

  // GPUs have no kernels for trees.
  static bool is_for_gpus(const ScanOptions& options) {
    return options.algorithm.empty() || options.algorithm == kScanSerial ||
           options.algorithm == kScanChunked;
  }

  static scan::WalkChoice choose(Op region_op, const ScanOptions& options) {
    if (options.when != ScanWhen::always && is_weighted(region_op, options)) {
      return scan::choose_weighted_walk(region_op);
    }
    switch (options.when) {
      case ScanWhen::always: return {true, "by a scan, as it was asked for"};
      case ScanWhen::never: return {false, "step by step: this device has no kernel for scans"};
      case ScanWhen::where_faster: break;
    }
    if (options.device != DeviceKind::cpu && !is_for_gpus(options)) {
      return {false, "step by step: this device has no kernel for the algorithm " +
                         options.algorithm + ", which was asked for"};
    }
    // Products of Jacobians are many times the work of back-propagation, and there are a few stages
    // to share it, not thousands of steps.
    return is_stack(region_op) ? scan::WalkChoice{false, "stage by stage"}
                               : scan::choose_walk(region_op, options.device);
  }

  static std::string stages_explained(Op call) {
    if (const std::string reason = why_not_staged(call, float_inputs(call)); !reason.empty()) {
      return "stage by stage, since " + reason;
    }
    const StackWalk stages = stages_of(call, float_inputs(call));
    return fmt::format(
        "stage by stage: a scan over {} of its {} stages would multiply their Jacobians, many "
        "times the work of back-propagation",
        stages.num_scanned(), stages.num_stages());
  }

  ScanOptions fallbacks_;
  NewtonForward newton_;
};

}  // namespace

std::unique_ptr<GradientEngine> make_scan_engine(const ScanOptions& options) {
  return std::make_unique<ScanEngine>(options);
}

}  // namespace antichain
