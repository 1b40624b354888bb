#include "antichain/engines/scan/scan_engine.h"

#include <fmt/format.h>

#include <algorithm>

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

std::vector<bool> float_inputs(Op op) {
  std::vector<bool> floats;
  for (Var input : op.inputs()) {
    floats.push_back(is_float(input.dtype()));
  }
  return floats;
}

class ScanEngine final : public GradientEngine {
 public:
  explicit ScanEngine(ScanOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "scan"; }
  std::string_view summary() const override {
    return "chains, and stages of other models, as a parallel scan over their Jacobians";
  }
  Guarantee guarantee() const override { return Guarantee::exact; }

  Support supports(Op region_op, const std::vector<bool>& needed) const override {
    if (&region_op.def() != &chain_def() && !is_stack(region_op)) {
      return Support::no("it is no chain and no call");
    }
    std::string reason;
    if (options_.when == ScanWhen::always) {
      reason = is_stack(region_op) ? why_not_staged(region_op, needed)
                                   : scan::why_not_stacked(region_op);
    }
    return reason.empty() ? Support{} : Support::no(reason);
  }

  std::string explain(Op region_op) const override {
    return is_stack(region_op) && options_.when == ScanWhen::where_faster
               ? stages_explained(region_op)
               : choose(region_op).reason;
  }

  std::vector<Var> differentiate(VjpContext& context) const override {
    const Op chain = context.op();
    if (!choose(chain).by_scan) {
      return chain.def().vjp(context);
    }
    if (is_stack(chain)) {
      return differentiate_stack(context);
    }
    const StackedSteps steps(context);
    const JointState& joint = steps.joint();
    Vars grads(static_cast<std::size_t>(chain.num_inputs())), after(joint.parts.size());
    if (!joint.parts.empty()) {
      const AffineScanOptions options{.reverse = !chain.attrs().get<bool>("reverse"),
                                      .algorithm = options_.algorithm,
                                      .chunk = options_.chunk};
      const AffineScan found =
          is_weighted(chain) ? scan_of_weights(steps, options) : scan_of_matrices(steps, options);
      // On the way back, the state after a step comes before it.
      after = joint.cut(found.before);
      const Vars first = joint.cut(found.last);
      for (std::size_t i = 0; i < first.size(); ++i) {
        grads[static_cast<std::size_t>(joint.parts[i].state)] = first[i];
      }
    }
    steps.add_input_gradients(after, grads);
    return grads;
  }

 private:
  // The body is built again where the rule stands, as back-propagation does.
  std::vector<Var> differentiate_stack(const VjpContext& context) const {
    Graph& graph = context.graph();
    std::vector<bool> needed;
    for (int i = 0; i < context.num_inputs(); ++i) {
      needed.push_back(context.needs(i));
    }
    const Vars inputs = captured_here(graph, context.op().inputs());
    const Var end = inline_region(graph, context.op().regions()[0], inputs)[0];
    const Vars found = StackWalk(graph, marked(inputs, needed), end)
                           .gradients(context.grad(), options_.algorithm, options_.chunk);
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
  bool is_weighted(Op region_op) const {
    return options_.weighted && !is_stack(region_op) && is_for_gpus() &&
           scan::why_not_stacked(region_op).empty() && scan::why_not_weighted(region_op).empty();
  }

  // GPUs have no kernels for trees.
  bool is_for_gpus() const {
    return options_.algorithm.empty() || options_.algorithm == kScanSerial ||
           options_.algorithm == kScanChunked;
  }

  scan::WalkChoice choose(Op region_op) const {
    if (options_.when != ScanWhen::always && is_weighted(region_op)) {
      return scan::choose_weighted_walk(region_op);
    }
    switch (options_.when) {
      case ScanWhen::always: return {true, "by a scan, as it was asked for"};
      case ScanWhen::never: return {false, "step by step: this device has no kernel for scans"};
      case ScanWhen::where_faster: break;
    }
    if (options_.device != DeviceKind::cpu && !is_for_gpus()) {
      return {false, "step by step: this device has no kernel for the algorithm " +
                         options_.algorithm + ", which was asked for"};
    }
    // Products of Jacobians are many times the work of back-propagation, and there are a few stages
    // to share it, not thousands of steps.
    return is_stack(region_op) ? scan::WalkChoice{false, "stage by stage"}
                               : scan::choose_walk(region_op, options_.device);
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

  ScanOptions options_;
};

}  // namespace

std::unique_ptr<GradientEngine> make_scan_engine(const ScanOptions& options) {
  return std::make_unique<ScanEngine>(options);
}

}  // namespace antichain
