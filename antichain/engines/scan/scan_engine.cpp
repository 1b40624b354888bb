#include "antichain/engines/scan/scan_engine.h"

#include <algorithm>

#include "antichain/engines/scan/stacked_steps.h"
#include "antichain/engines/scan/walk_choice.h"
#include "antichain/ops/affine_scan.h"
#include "antichain/ops/creation.h"

namespace antichain {

namespace {

using scan::JointState;
using scan::StackedSteps;

class ScanEngine final : public GradientEngine {
 public:
  explicit ScanEngine(ScanOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "scan"; }
  std::string_view summary() const override {
    return "chains as a parallel scan over their steps, whose Jacobians are computed at once";
  }
  Guarantee guarantee() const override { return Guarantee::exact; }

  Support supports(Op region_op, const std::vector<bool>&) const override {
    if (&region_op.def() != &chain_def()) {
      return Support::no("it is no chain");
    }
    const std::string reason =
        options_.when == ScanWhen::always ? scan::why_not_stacked(region_op) : std::string();
    return reason.empty() ? Support{} : Support::no(reason);
  }

  std::string explain(Op region_op) const override { return choose(region_op).reason; }

  std::vector<Var> differentiate(VjpContext& context) const override {
    const Op chain = context.op();
    if (!choose(chain).by_scan) {
      return chain.def().vjp(context);
    }
    const StackedSteps steps(context);
    const JointState& joint = steps.joint();
    Vars grads(static_cast<std::size_t>(chain.num_inputs())), after(joint.parts.size());
    if (!joint.parts.empty()) {
      const AffineScan found =
          affine_scan(steps.transposed_jacobians(), steps.local_gradients(), steps.last_gradient(),
                      {.reverse = !chain.attrs().get<bool>("reverse"),
                       .algorithm = options_.algorithm,
                       .chunk = options_.chunk});
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
  scan::WalkChoice choose(Op chain) const {
    switch (options_.when) {
      case ScanWhen::always: return {true, "by a scan, as it was asked for"};
      case ScanWhen::never: return {false, "step by step: this device has no kernel for scans"};
      case ScanWhen::where_faster: break;
    }
    return scan::choose_walk(chain);
  }

  ScanOptions options_;
};

}  // namespace

std::unique_ptr<GradientEngine> make_scan_engine(const ScanOptions& options) {
  return std::make_unique<ScanEngine>(options);
}

}  // namespace antichain
