#include "antichain/engines/likelihood/likelihood_engine.h"

#include <algorithm>

#include "antichain/engines/likelihood/clean_values.h"
#include "antichain/engines/likelihood/estimate.h"
#include "antichain/engines/likelihood/likelihood_options.h"
#include "antichain/engines/likelihood/noise_sites.h"
#include "antichain/engines/likelihood/site_choice.h"
#include "antichain/engines/likelihood/watched.h"
#include "antichain/engines/likelihood/weight_noise.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain {

namespace likelihood {

namespace {

std::vector<bool> float_inputs(Op op) {
  std::vector<bool> learned;
  for (Var input : op.inputs()) {
    learned.push_back(is_float(input.dtype()));
  }
  return learned;
}

bool is_on_sites(const Options& set) {
  return set.mode != Mode::weights && set.mode != Mode::forward;
}

class LikelihoodEngine final : public GradientEngine {
 public:
  std::string_view name() const override { return kLikelihood; }
  std::string_view summary() const override {
    return "runs with noise instead of a backward sweep; ops need no derivative";
  }
  Guarantee guarantee() const override { return Guarantee::unbiased; }
  std::vector<OptionSpec> options() const override { return option_specs(); }
  bool wants_example_losses() const override { return true; }

  Support supports(Op op, const std::vector<bool>& needed) const override {
    if (&op.def() != &call_def()) {
      return Support::no("it has no losses of examples; name the engine for the whole model");
    }
    const Var losses = op.output();
    if (op.num_outputs() != 1 || losses.rank() != 1 || !is_float(losses.dtype())) {
      return Support::no(
          "it must end in the losses of examples, one number each, and ends in " +
          to_string(losses.shape()) +
          "; name the engine for the whole model, and the losses in GradOptions::at");
    }
    if (std::string reason = why_not_vmap(op.graph(), op.regions()[0]); !reason.empty()) {
      return Support::no(reason + ", so there cannot be many copies of it");
    }
    if (is_on_sites(read_options(settings(op))) && find_sites(op, needed).empty()) {
      return Support::no(
          "none of its values is the product of a layer, so there is no place for noise; name one "
          "by noise_site(x)");
    }
    return {};
  }

  std::string explain(Op op) const override {
    if (&op.def() != &call_def()) {
      return {};
    }
    const Options set = read_options(settings(op));
    if (!is_on_sites(set)) {
      return fmt::format("noise on the parameters, {} copies", set.copies);
    }
    const std::vector<Site> sites = find_sites(op, float_inputs(op));
    std::string text;
    for (const SiteGroup& group : choose_groups(op, sites, set)) {
      for (std::size_t site : group.sites) {
        text += fmt::format("{}noise on {}[{}], {} copies", text.empty() ? "" : "; ",
                            sites[site].name, width_of(sites[site]), group.copies);
      }
    }
    return text;
  }

  // Where values are kept for the gradient, they are those of the losses' own run.
  bool shares_forward(const Settings& settings) const override {
    return !read_options(settings).computes_again();
  }

  std::optional<std::vector<Var>> forward(Op op, const ForwardContext&) const override {
    if (&op.def() != &call_def()) {
      return std::nullopt;
    }
    return clean_results(op.graph(), op.regions()[0], op.inputs());
  }

  std::vector<Var> differentiate(VjpContext& context) const override {
    Options set = read_options(settings(context.op()));
    std::vector<bool> needed;
    for (int i = 0; i < context.num_inputs(); ++i) {
      needed.push_back(context.needs(i));
    }
    const std::vector<Site> sites =
        is_on_sites(set) ? find_sites(context.op(), needed) : std::vector<Site>();
    set.at_once = copies_at_once(context.op(), sites, set);
    const std::vector<Var> gradients = estimate(context, sites, set);
    return set.watch > 0 ? with_cosines(context, gradients, set.watch) : gradients;
  }

 private:
  static std::vector<Var> estimate(VjpContext& context, const std::vector<Site>& sites,
                                   const Options& set) {
    if (set.mode == Mode::weights) {
      return estimate_by_weights(context, set);
    }
    if (set.mode == Mode::forward) {
      return estimate_by_directions(context, set);
    }
    return estimate_by_sites(context, sites, set);
  }
};

}  // namespace

}  // namespace likelihood

std::unique_ptr<GradientEngine> make_likelihood_engine() {
  return std::make_unique<likelihood::LikelihoodEngine>();
}

}  // namespace antichain
