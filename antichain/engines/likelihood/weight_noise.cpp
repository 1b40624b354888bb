#include "antichain/engines/likelihood/weight_noise.h"

#include <algorithm>
#include <functional>

#include "antichain/autodiff/walk.h"
#include "antichain/engines/likelihood/clean_values.h"
#include "antichain/engines/likelihood/copy_sums.h"
#include "antichain/engines/likelihood/site_noise.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain::likelihood {

namespace {

// The parameters as one place for noise: a draw moves all of them, and counts with all losses.
class WeightNoise {
 public:
  WeightNoise(VjpContext& context, const Options& options)
      : context_(context),
        graph_(context.graph()),
        options_(options),
        draws_(options.draws(options.copies)),
        key_(fold_in(random_key(graph_), graph_.next_random_stream())) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      inputs_.push_back(graph_.capture(context.op().input(i)));
      if (context.needs(i)) {
        moved_.push_back(static_cast<std::size_t>(i));
      }
    }
    Columns columns{.first = 0, .all = all_columns()};
    for (std::size_t i : moved_) {
      const Dims& shape = inputs_[i].shape();
      noise_.emplace_back(shape, inputs_[i].dtype(), std::nullopt, options.noise, draws_, columns);
      columns.first += columns.all > 0 ? numel(shape).constant() : 0;
    }
  }

  /// Sums `credit_of(directions)` [copies, 1] times the scores over all draws, groups of copies in
  /// turn, and returns the mean by input.
  std::vector<Var> mean_over_draws(
      const std::function<Var(Var numbers, const std::vector<Var>& directions)>& credit_of) {
    Vars zero_sums;
    for (std::size_t i : moved_) {
      zero_sums.push_back(zeros(graph_, inputs_[i].dtype(), inputs_[i].shape()));
    }
    zero_sums.push_back(scalar(graph_, f64, 0));
    const CopySplit split{draws_, options_.draws(options_.at_once)};
    const Vars sums = sum_over_copies(graph_, split, zero_sums, [&](Var numbers) {
      std::vector<Var> directions;
      for (std::size_t n = 0; n < noise_.size(); ++n) {
        directions.push_back(noise_[n].draw(key_of(n), numbers).noise);
      }
      const Var credit = credit_of(numbers, directions);
      Vars added;
      for (std::size_t n = 0; n < noise_.size(); ++n) {
        added.push_back(noise_[n].weighted_draws(key_of(n), numbers, credit));
      }
      added.push_back(sum_of_copies(sum(square(cast(credit, f64)), {1})));
      return added;
    });
    squares_ = sums.back();
    std::vector<Var> means(inputs_.size());
    for (std::size_t n = 0; n < moved_.size(); ++n) {
      means[moved_[n]] = sums[n] * (1.0 / static_cast<double>(draws_));
    }
    return means;
  }

  // Arguments of the region for copies moved by `distance` times the directions.
  std::vector<Mapped> moved_by(const std::vector<Var>& directions, double distance) const {
    std::vector<Mapped> arguments;
    for (Var input : inputs_) {
      arguments.push_back({graph_.capture(input), false});
    }
    for (std::size_t n = 0; n < moved_.size(); ++n) {
      Mapped& argument = arguments[moved_[n]];
      argument = {expand_dims(argument.value, 0) + distance * directions[n], true};
    }
    return arguments;
  }

  std::vector<Var> with_reports(std::vector<Var> gradients, double scale) const {
    if (!options_.reports || moved_.empty()) {
      return gradients;
    }
    Var size = scalar(graph_, f64, 0), elements = scalar(graph_, f64, 0);
    for (std::size_t i : moved_) {
      size = size + sum(square(cast(gradients[i], f64)));
      elements = elements + cast(dim_value(graph_, numel(inputs_[i].shape())), f64);
    }
    const double draws = static_cast<double>(draws_);
    const Var squares = squares_ * (scale * scale / draws);  // the mean of the draws
    const Var error =
        noise_[0].sums_by_product()
            ? squares * orthogonal_error(draws_, {.first = 0, .all = all_columns()}, all_columns())
            : squares * elements * (1 / draws) - size / draws;
    Var& carrier = gradients[moved_[0]];
    carrier =
        with_report(carrier, "standard_error", sqrt(maximum(error, 0) / maximum(size, 1e-300)));
    carrier = with_report(carrier, "noisy_runs",
                          scalar(graph_, f64, static_cast<double>(options_.copies)));
    return gradients;
  }

  Var weight() const { return expand_dims(graph_.capture(context_.grad()), 0); }
  Graph& graph() const { return graph_; }
  Op op() const { return context_.op(); }
  const std::vector<Var>& inputs() const { return inputs_; }
  const std::vector<std::size_t>& moved() const { return moved_; }
  std::int64_t draws() const { return draws_; }

 private:
  Var key_of(std::size_t n) const {
    return fold_in(graph_.capture(key_), static_cast<std::int64_t>(n));
  }
  std::int64_t all_columns() const {
    std::int64_t all = 0;
    for (std::size_t i : moved_) {
      const Dim elements = numel(inputs_[i].shape());
      if (!elements.is_constant()) {
        return 0;
      }
      all += elements.constant();
    }
    return all;
  }

  VjpContext& context_;
  Graph& graph_;
  const Options& options_;
  std::int64_t draws_;
  Var key_;
  std::vector<Var> inputs_;
  std::vector<std::size_t> moved_;  // inputs that get noise
  std::vector<SiteNoise> noise_;    // of each of them
  Var squares_;                     // of the credit, summed
};

// Every copy's loss beyond the baseline, [copies, 1].
Var credit_beyond(Var losses, const WeightNoise& noise, Baseline baseline) {
  Graph& graph = noise.graph();
  if (baseline == Baseline::clean) {
    losses = losses - graph.capture(noise.op().output());
  }
  const Var total = sum(noise.weight() * losses, {1}, true);
  if (baseline != Baseline::leave_one_out) {
    return total;
  }
  const double all = static_cast<double>(noise.draws());
  return (total - mean(total, {0}, true)) * (all / (all - 1));
}

}  // namespace

std::vector<Var> estimate_by_weights(VjpContext& context, const Options& options) {
  require(options.baseline != Baseline::leave_one_out || options.at_once == 0,
          "engine 'likelihood': with mode=weights, baseline=leave-one-out needs all copies at "
          "once; leave out at_once or take baseline=clean");
  WeightNoise noise(context, options);
  Graph& graph = noise.graph();
  const RegionId region = context.op().regions()[0];
  const Dims shape = context.op().output().shape();
  const auto losses_at = [&](const std::vector<Var>& directions, double distance, Dim copies) {
    return with_mapped_axis(
        vmap_region(graph, region, noise.moved_by(directions, distance), copies)[0], shape, copies);
  };
  std::vector<Var> gradients =
      noise.mean_over_draws([&](Var numbers, const std::vector<Var>& directions) {
        const Dim copies = numbers.dim(0);
        const Var plus = losses_at(directions, options.sigma, copies);
        if (!options.antithetic) {
          return credit_beyond(plus, noise, options.baseline);
        }
        const Var minus = losses_at(directions, -options.sigma, copies);
        return credit_beyond((plus - minus) * 0.5, noise, Baseline::none);
      });
  for (Var& gradient : gradients) {
    gradient = gradient.valid() ? gradient * (1 / options.sigma) : gradient;
  }
  return noise.with_reports(std::move(gradients), 1 / options.sigma);
}

std::vector<Var> estimate_by_directions(VjpContext& context, const Options& options) {
  require(options.noise != NoiseKind::laplace,
          "engine 'likelihood': mode=forward needs directions whose score is the direction itself; "
          "take noise=gaussian, rademacher or hadamard");
  require(!options.antithetic,
          "engine 'likelihood': the derivatives along opposite directions are opposite; take "
          "antithetic=no with mode=forward");
  WeightNoise noise(context, options);
  Graph& graph = noise.graph();
  const auto slopes = [&](Var numbers, const std::vector<Var>& directions) {
    const auto one_copy = [&](Var, const Vars&, const Vars& along) -> StepResult {
      std::vector<Var> arguments, wanted;
      for (Var input : noise.inputs()) {
        arguments.push_back(graph.capture(input));
      }
      for (std::size_t i : noise.moved()) {
        wanted.push_back(arguments[i]);
      }
      const std::vector<Var> losses = clean_results(graph, context.op().regions()[0], arguments);
      const Var moved = walk_forward(graph, wanted, along, losses)[0];
      require<NotSupported>(moved.valid(),
                            "engine 'likelihood': mode=forward needs the derivatives of all ops "
                            "between parameters and losses; take mode=layer");
      return {{}, {moved}};
    };
    const Var tangents = chain({}, directions, one_copy, {.length = numbers.dim(0)}).ys[0];
    return sum(noise.weight() * tangents, {1}, true);
  };
  return noise.with_reports(noise.mean_over_draws(slopes), 1);
}

}  // namespace antichain::likelihood
