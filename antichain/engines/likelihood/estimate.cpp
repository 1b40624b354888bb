#include "antichain/engines/likelihood/estimate.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "antichain/autodiff/walk.h"
#include "antichain/engines/likelihood/clean_values.h"
#include "antichain/engines/likelihood/copy_runs.h"
#include "antichain/engines/likelihood/copy_sums.h"
#include "antichain/engines/likelihood/example_rows.h"
#include "antichain/engines/likelihood/feedback.h"
#include "antichain/engines/likelihood/local_gradients.h"
#include "antichain/engines/likelihood/noise_spread.h"
#include "antichain/engines/likelihood/site_choice.h"
#include "antichain/engines/likelihood/site_region.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::likelihood {

namespace {

// What noisy runs say about the sites that were noisy together.
struct Found {
  Var odd;   // credit of the copies for the gradient by the values
  Var even;  // and by the deviations
};

std::vector<Var> captured(Graph& graph, const std::vector<Var>& values) {
  std::vector<Var> own;
  for (Var value : values) {
    own.push_back(graph.capture(value));
  }
  return own;
}

class Estimate {
 public:
  Estimate(VjpContext& context, const std::vector<Site>& sites, const Options& options)
      : context_(context),
        graph_(context.graph()),
        op_(context.op()),
        sites_(sites),
        options_(options),
        key_(fold_in(random_key(graph_), graph_.next_random_stream())),
        inputs_(captured(graph_, op_.inputs())),
        clean_(graph_, op_.regions()[0], inputs_) {}

  std::vector<Var> gradients() {
    const ExampleRows rows(graph_, op_.regions()[0], [this](Var value) { return clean_(value); });
    groups_ = choose_groups(op_, sites_, options_);
    noise_.resize(sites_.size());
    require_spreads();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::int64_t draws = options_.draws(groups_[g].copies);
      Columns columns{.first = 0, .all = all_columns(groups_[g], rows)};
      for (std::size_t site : groups_[g].sites) {
        const std::optional<Rows> own = rows.of(sites_[site]);
        const Dims shape = sites_[site].shape();
        group_of_[site] = g;
        noise_[site].emplace(shape, sites_[site].dtype(), own, options_.noise, draws, columns);
        columns.first += columns.all > 0 ? row_width(shape, own).constant() : 0;
      }
    }
    find_feedback(rows);
    LocalGradients gradients(context_, inputs_);
    std::vector<std::size_t> all;
    for (const SiteGroup& group : groups_) {
      found_.push_back(without_predicted(group, credit(group, options_.draws(group.copies))));
      done_.push_back(found_.back().odd);
      all.insert(all.end(), group.sites.begin(), group.sites.end());
      if (goes_in_turn()) {
        walk(group.sites, /*to_the_end=*/false, gradients);
        done_ = gradients.newest().empty() ? done_ : gradients.newest();
      }
    }
    walk(goes_in_turn() ? std::vector<std::size_t>() : all, /*to_the_end=*/true, gradients);
    const std::vector<Var> found = with_feedback_learned(gradients.all());
    return options_.reports ? with_reports(found) : found;
  }

 private:
  void require_spreads() const {
    const bool has_signs =
        options_.noise == NoiseKind::hadamard || options_.noise == NoiseKind::rademacher;
    for (const Site& site : sites_) {
      require(
          !site.learns_spread || !has_signs,
          "engine 'likelihood': the noise at '{}' learns its deviation, which noise of -1 and 1 "
          "does not tell; take noise=gaussian or noise=laplace",
          site.scope);
    }
  }

  Var key_of(Var key, std::size_t site) const {
    return fold_in(key, static_cast<std::int64_t>(site));
  }

  std::int64_t all_columns(const SiteGroup& group, const ExampleRows& rows) const {
    std::int64_t all = 0;
    for (std::size_t site : group.sites) {
      const Dim width = row_width(sites_[site].shape(), rows.of(sites_[site]));
      if (!width.is_constant()) {
        return 0;
      }
      all += width.constant();
    }
    return all;
  }

  Found credit(const SiteGroup& group, std::int64_t draws) {
    NoisyRun run{.op = op_, .sites = sites_, .noise = {}, .keys = {}, .draws = draws};
    run.noise.resize(sites_.size());
    run.keys.resize(sites_.size());
    for (std::size_t site : group.sites) {
      run.noise[site] = noise_[site];
      run.keys[site] = key_of(in_turn(key_), site);
    }
    const NoisyLosses losses = run_copies(run, options_);
    const Var weight = expand_dims(graph_.capture(context_.grad()), 0);
    const Var clean_losses = graph_.capture(op_.output());
    if (losses.minus.valid()) {
      return {.odd = weight * (losses.plus - losses.minus) * 0.5,
              .even = weight * ((losses.plus + losses.minus) * 0.5 - clean_losses)};
    }
    Var over = losses.plus;
    if (options_.baseline == Baseline::clean) {
      over = over - clean_losses;
    } else if (options_.baseline == Baseline::leave_one_out) {
      const double all = static_cast<double>(draws);
      over = (over - mean(over, {0}, true)) * (all / (all - 1));
    }
    return {.odd = weight * over, .even = weight * over};
  }

  // The gradient by the values of a site that nothing noisy is at or behind.
  Var exact_gradient(std::size_t site) {
    SiteHook top{.shows = std::vector<bool>(sites_.size()),
                 .replace = [](const AtSite& at) { return at.value; }};
    top.shows[site] = true;
    const SiteRegion region(graph_, op_.regions()[0], inputs_, sites_, top);
    return context_.walk_back(region.results(), std::vector<Var>{graph_.capture(context_.grad())},
                              std::vector<Var>{region.shown(site)})[0];
  }

  // From the last site forward: each predicts from what is known, or predicted, of the next.
  void find_feedback(const ExampleRows& rows) {
    if (!options_.learns_feedback) {
      return;
    }
    require<NotSupported>(graph_.current_region() == kRootRegion,
                          "engine 'likelihood': feedback=yes keeps what it learns from step to "
                          "step, which a gradient within a chain or loop cannot");
    Var next;
    bool is_exact = true;
    for (std::size_t site = sites_.size(); site-- > 0;) {
      if (!Feedback::supports(sites_[site], rows.of(sites_[site]))) {
        continue;
      }
      if (!group_of_.contains(site)) {
        next = is_exact ? exact_gradient(site) : next;
        continue;
      }
      is_exact = false;
      if (next.valid()) {
        const Var predicted = Feedback(next).predicted(sites_[site]);
        predictions_[site] = {next, masked(site, clean_(sites_[site].value), predicted)};
        next = predictions_.at(site).predicted;
      }
    }
    require<NotSupported>(!predictions_.empty(),
                          "engine 'likelihood': feedback=yes predicts for sites of examples' units "
                          "in front of another one whose gradient is exact, and there is none; "
                          "leave it out");
  }

  Var masked(std::size_t site, Var values, Var gradient) const {
    return is_masked(sites_[site], options_) ? select(greater(values, 0), gradient, 0) : gradient;
  }

  // Takes out of the copies' losses what the predicted gradients say about them.
  Found without_predicted(const SiteGroup& group, Found found) {
    for (std::size_t site : group.sites) {
      if (predictions_.contains(site)) {
        const Var predicted = predictions_.at(site).predicted;
        const Var moved = join_copies(
            graph_, split_of(site),
            [&](Var numbers) -> Vars {
              const Var key = graph_.capture(key_);
              return {noise_[site]->project(key_of(key, site), numbers, graph_.capture(predicted))};
            },
            op_.location())[0];
        found.odd = found.odd - cast(moved * options_.sigma, found.odd.dtype());
      }
    }
    return found;
  }

  bool computes_again() const { return !options_.keeps_values && options_.mode != Mode::mixed; }

  // Of one layer after the other: the losses of its copies are needed no longer when those of the
  // next begin. What is in front of a layer is computed for it once more.
  bool goes_in_turn() const { return computes_again() && options_.mode == Mode::layer; }

  // What is behind a value is computed anew once `done_` is, and need not be kept meanwhile.
  Var later(Var value) const {
    return computes_again() && !done_.empty() ? after_writes(value, done_) : value;
  }

  // Where copies are computed in turn, sites are, too.
  Var in_turn(Var key) const {
    const bool waits = goes_in_turn() || options_.at_once > 0;
    return waits && !done_.empty() ? after_writes(key, {done_.back()}) : key;
  }

  CopySplit split_of(std::size_t site) const {
    const std::int64_t at_once =
        noise_[site]->sums_by_product() ? 0 : options_.draws(options_.at_once);
    return {noise_[site]->count(), at_once};
  }

  // The mean over all draws of what `of_copies` sums over some, given their numbers and credit.
  template <class F>
  Var mean_over_draws(std::size_t site, Var credit, const Dims& shape, F of_copies) const {
    const CopySplit split = split_of(site);
    const Var zero = zeros(graph_, noise_[site]->dtype(), shape);
    const Var total = sum_over_copies(graph_, split, {zero}, [&](Var numbers) -> Vars {
      const Var own = graph_.capture(credit);
      return {of_copies(numbers, split.is_whole() ? own : gather(own, numbers))};
    })[0];
    return total * (1.0 / static_cast<double>(split.draws));
  }

  // Goes back from sites, and from the losses if it goes to the end; the rest is cut off.
  void walk(const std::vector<std::size_t>& from, bool to_the_end, LocalGradients& gradients) {
    std::vector<Var> arguments;
    for (int i = 0; i < context_.num_inputs(); ++i) {
      const Var input = inputs_[static_cast<std::size_t>(i)];
      arguments.push_back(context_.needs(i) ? input : later(input));
    }
    const Var key = later(key_);
    SiteHook cut{.shows = std::vector<bool>(sites_.size()),
                 .replace = [](const AtSite& at) { return stop_gradient(at.value); },
                 .reached =
                     [&](const SiteRegion& region, const std::vector<std::size_t>& at) {
                       std::vector<std::size_t> here;
                       std::ranges::copy_if(at, std::back_inserter(here), [&](std::size_t site) {
                         return std::ranges::count(from, site) > 0;
                       });
                       walk_from(region, here, key, gradients);
                     },
                 .computes_again = computes_again()};
    for (const auto& [site, group] : group_of_) {
      cut.shows[site] = true;
    }
    const SiteRegion region(graph_, op_.regions()[0], arguments, sites_, cut);
    if (to_the_end) {
      gradients.add(region.results(), {graph_.capture(context_.grad())});
    }
  }

  // Matrices are written once all of them have been read.
  std::vector<Var> with_feedback_learned(std::vector<Var> gradients) const {
    std::vector<Var> writes;
    for (const Residual& of : learned_) {
      writes.push_back(Feedback(of.from).learn(sites_[of.site], of.residual));
    }
    const auto carrier = std::ranges::find_if(gradients, [](Var v) { return v.valid(); });
    if (!writes.empty() && carrier != gradients.end()) {
      *carrier = after_writes(*carrier, writes);
    }
    return gradients;
  }

  // Goes back from sites to the parameters in front of them, before what is behind them is built:
  // the values of a layer are no longer needed then.
  void walk_from(const SiteRegion& region, const std::vector<std::size_t>& at, Var key,
                 LocalGradients& gradients) {
    if (at.empty()) {
      return;
    }
    std::vector<Var> outputs, seeds;
    if (computes_again() && !gradients.newest().empty()) {
      key = after_writes(key, gradients.newest());
    }
    for (std::size_t site : at) {
      outputs.push_back(region.shown(site));
      seeds.push_back(estimated(site, key_of(key, site), region));
      if (sites_[site].learns_spread) {
        outputs.push_back(region.spread(site));
        seeds.push_back(by_spread(site, key_of(key, site), region));
      }
    }
    gradients.add(outputs, seeds);
  }

  // The estimated gradient by the values of a site.
  Var estimated(std::size_t site, Var key, const SiteRegion& region) {
    const SiteNoise& noise = *noise_[site];
    const Var credit = found_[group_of_.at(site)].odd;
    Var gradient =
        mean_over_draws(site, credit, sites_[site].shape(), [&](Var numbers, Var of_copies) {
          return noise.estimate(graph_.capture(key), numbers, of_copies);
        });
    squared_error_.push_back(noise.squared_error(credit, gradient));
    gradient = masked(site, region.shown(site), gradient);
    if (!predictions_.contains(site)) {
      squared_size_.push_back(sum(square(cast(gradient, f64))));
      return unspread(sites_[site], region.spread(site), gradient, options_.sigma);
    }
    const Prediction& prediction = predictions_.at(site);
    const Var residual = gradient * (1 / options_.sigma), total = prediction.predicted + residual;
    squared_size_.push_back(sum(square(cast(total * options_.sigma, f64))));
    learned_.push_back({site, prediction.from, residual});
    return total;
  }

  // That by what spreads its noise.
  Var by_spread(std::size_t site, Var key, const SiteRegion& region) const {
    const Dims shape = sites_[site].has_factor ? region.spread(site).shape() : sites_[site].shape();
    const Var even = found_[group_of_.at(site)].even;
    const Var sums = mean_over_draws(site, even, shape, [&](Var numbers, Var of_copies) {
      return sites_[site].has_factor
                 ? noise_[site]->moments(graph_.capture(key), numbers, of_copies)
                 : noise_[site]->spread(graph_.capture(key), numbers, of_copies);
    });
    return spread_gradient(sites_[site], region.spread(site), sums);
  }

  std::vector<Var> with_reports(std::vector<Var> gradients) const {
    const auto carrier = std::ranges::find_if(gradients, [](Var v) { return v.valid(); });
    if (carrier == gradients.end() || squared_error_.empty()) {
      return gradients;
    }
    Var error = squared_error_[0], size = squared_size_[0];
    for (std::size_t i = 1; i < squared_error_.size(); ++i) {
      error = error + squared_error_[i];
      size = size + squared_size_[i];
    }
    std::int64_t runs = 0;
    for (const SiteGroup& group : groups_) {
      runs += group.copies;
    }
    *carrier = with_report(*carrier, "standard_error", sqrt(error / maximum(size, 1e-300)));
    *carrier = with_report(*carrier, "noisy_runs", scalar(graph_, f64, static_cast<double>(runs)));
    return gradients;
  }

  VjpContext& context_;
  Graph& graph_;
  Op op_;
  const std::vector<Site>& sites_;
  const Options& options_;
  Var key_;
  std::vector<Var> inputs_;
  CleanValues clean_;
  std::vector<SiteGroup> groups_;
  std::unordered_map<std::size_t, std::size_t> group_of_;  // by site
  std::vector<std::optional<SiteNoise>> noise_;            // by site
  std::vector<Found> found_;                               // by group
  std::vector<Var> done_;  // what is computed before what is built next
  std::vector<Var> squared_error_, squared_size_;
  struct Prediction {
    Var from, predicted;  // gradients of the next site and of this one
  };
  std::unordered_map<std::size_t, Prediction> predictions_;  // by site
  struct Residual {
    std::size_t site;
    Var from, residual;
  };
  std::vector<Residual> learned_;
};

}  // namespace

std::vector<Var> estimate_by_sites(VjpContext& context, const std::vector<Site>& sites,
                                   const Options& options) {
  return Estimate(context, sites, options).gradients();
}

}  // namespace antichain::likelihood
