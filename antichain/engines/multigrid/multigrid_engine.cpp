#include "antichain/engines/multigrid/multigrid_engine.h"

#include <fmt/format.h>

#include "antichain/engines/multigrid/adjoint_chain.h"
#include "antichain/engines/multigrid/cycles.h"
#include "antichain/engines/multigrid/kept_guess.h"
#include "antichain/engines/multigrid/multigrid_chain.h"
#include "antichain/engines/multigrid/multigrid_cost.h"

namespace antichain {

namespace {

using multigrid::CoarseStep;
using multigrid::Options;
using multigrid::SolveOptions;
using multigrid::When;

bool is_chain(Op op) { return &op.def() == &chain_def(); }

struct HowSolved {
  bool by_multigrid;
  std::string reason;
};

class MultigridEngine final : public GradientEngine {
 public:
  std::string_view name() const override { return multigrid::kEngine; }
  std::string_view summary() const override {
    return "chains, forward and back, by multigrid cycles over all intervals of steps at once";
  }
  Guarantee guarantee() const override { return Guarantee::iterative; }
  std::vector<OptionSpec> options() const override { return multigrid::option_specs(); }

  Support supports(Op region_op, const std::vector<bool>&) const override {
    const Options options = options_for(region_op);
    if (!is_chain(region_op) || options.when != When::always) {
      return {};
    }
    const std::string reason = multigrid::why_not_solved(region_op, options.forward.coarse);
    return reason.empty() ? Support{} : Support::no(reason);
  }

  std::string explain(Op region_op) const override {
    const bool has_a_choice = !is_chain(region_op) || ChainLayout(region_op).states > 0;
    if (!has_a_choice) {
      return {};
    }
    const HowSolved how = choose(region_op);
    return how.by_multigrid ? how.reason + kept_memory(region_op) : how.reason;
  }

  bool replaces_forward(const Settings& settings) const override {
    return multigrid::read_options(settings).when != When::never;
  }

  std::optional<Vars> forward(Op region_op, const ForwardContext& context) const override {
    if (!choose(region_op).by_multigrid) {
      return std::nullopt;
    }
    return multigrid::solve_chain(region_op, options_for(region_op).forward, context);
  }

  std::vector<Var> differentiate(VjpContext& context) const override {
    const Op op = context.op();
    if (!choose(op).by_multigrid) {
      return op.def().vjp(context);
    }
    return multigrid::differentiate_by_adjoint(
        context, multigrid::always_so(options_for(op).backward, settings(EngineChoice())));
  }

 private:
  Options options_for(Op op) const {
    Options options = multigrid::read_options(settings(op));
    if (is_chain(op)) {
      for (SolveOptions* solve : {&options.forward, &options.backward}) {
        solve->coarse = multigrid::coarse_step_of(op, solve->coarse);
      }
    }
    return options;
  }

  // What its forward solve and its adjoint keep for first guesses.
  std::string kept_memory(Op op) const {
    const Options options = options_for(op);
    std::string text;
    for (const auto& [problem, solve] :
         {std::pair{"", &options.forward}, std::pair{" of the adjoint", &options.backward}}) {
      if (multigrid::keeps_guess(*solve)) {
        const multigrid::GuessMemory memory = multigrid::guess_memory(op, *solve);
        text += fmt::format(", first guesses{} from kept states ({} of them, {:.2f} MB)", problem,
                            memory.copies, static_cast<double>(memory.bytes) / (1 << 20));
      }
    }
    return text;
  }

  HowSolved choose(Op op) const {
    if (!is_chain(op)) {
      return {false, "by back-propagation: it is no chain"};
    }
    const Options options = options_for(op);
    if (options.when == When::never) {
      return {false, "step by step, as it was asked for"};
    }
    if (std::string reason = multigrid::why_not_solved(op, options.forward.coarse);
        !reason.empty()) {
      return {false, "step by step: " + reason};
    }
    const Dim length = op.attrs().get<Dim>("length");
    const std::int64_t levels = multigrid::num_levels(length, options.forward);
    if (levels == 1 || multigrid::num_levels(length, options.backward) == 1) {
      return {false,
              fmt::format("step by step: {} steps are too few for a coarser grid", length.str())};
    }
    if (options.when == When::always) {
      return {true, fmt::format("by multigrid, as it was asked for: {} grids, coarse steps {}",
                                levels, multigrid::name(options.forward.coarse))};
    }
    // Not by the number of threads: results have the same bits on any number of them.
    return {false, multigrid::why_step_by_step(options.forward, levels)};
  }
};

}  // namespace

std::unique_ptr<GradientEngine> make_multigrid_engine() {
  return std::make_unique<MultigridEngine>();
}

}  // namespace antichain
