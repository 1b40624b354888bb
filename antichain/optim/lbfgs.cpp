#include "antichain/optim/lbfgs.h"

#include <limits>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/flat_parameters.h"
#include "antichain/optim/gradient_step.h"

namespace antichain::optim {

namespace {

// The least cosine between s and y of a pair that is kept: below it, rounding decides its sign.
constexpr double kLeastCosine = 1e-10;

void require_lbfgs(Var loss, const LbfgsOptions& options) {
  require_loss("lbfgs", loss);
  require_positive("lbfgs", "lr", options.lr);
  require(options.history > 0, "lbfgs: history must be above 0, got {}", options.history);
  require(options.max_evaluations > 0, "lbfgs: max_evaluations must be above 0, got {}",
          options.max_evaluations);
  require(0 < options.decrease && options.decrease < options.curvature && options.curvature < 1,
          "lbfgs: decrease and curvature must be rising within (0, 1), got {} and {}",
          options.decrease, options.curvature);
  require(!options.name.empty(), "lbfgs: the name is empty");
}

Var dot(Var a, Var b) { return sum(a * b); }

// Pairs, one per row, the newest last. Rows that were never written are 0 and have no weight.
struct Pairs {
  Var s, y;

  Var weights() const {  // 1 / (s y)
    const Var products = sum(s * y, {1});
    const Var present = greater(products, 0.0);
    return select(present, 1.0 / select(present, products, 1.0), 0.0);
  }

  // Nocedal and Wright, 2006, algorithm 7.4: the inverse Hessian times a vector, where the matrix
  // that it starts from is their equation 7.20, or 1.
  Var apply_inverse_hessian(Var vector) const {
    const Var rho = weights();
    const ChainResult down = chain({vector}, {s, y, rho},
                                   [](Var, const Vars& q, const Vars& pair) -> StepResult {
                                     const Var alpha = pair[2] * dot(pair[0], q[0]);
                                     return {{q[0] - alpha * pair[1]}, {alpha}};
                                   },
                                   {.reverse = true});
    const Var last_y = index(y, 0, -1), last = dot(index(s, 0, -1), last_y);
    const Var scale = ratio_or_one(last, dot(last_y, last_y), last);
    return chain({scale * down.last[0]}, {s, y, rho, down.ys[0]},
                 [](Var, const Vars& r, const Vars& pair) -> StepResult {
                   const Var beta = pair[2] * dot(pair[1], r[0]);
                   return {{r[0] + (pair[3] - beta) * pair[0]}};
                 })
        .last[0];
  }
};

struct Search {
  Var point, direction, gradient;  // where it begins
  Var loss, slope, length;         // f64
};

struct Found {
  Var length;    // f64; 0: nothing better was found
  Var gradient;  // there
};

// Lewis and Overton, 2013, algorithm 2.6: `low` is the longest step so far that decreases the loss
// enough, `high` the shortest that does not.
Found search_line(const FlatParameters& function, const Search& from, const LbfgsOptions& options) {
  Graph& graph = from.point.graph();
  const Var none = scalar(graph, f64, 0);
  const Var unlimited = scalar(graph, f64, std::numeric_limits<double>::infinity());
  const Vars start = {from.length,
                      none,
                      unlimited,
                      from.gradient,
                      scalar(graph, boolean, 0),  // whether `low` fulfils both conditions
                      scalar(graph, i64, 0)};     // evaluations
  const auto goes_on = [&](const Vars& now) {
    return logical_and(logical_not(now[4]), less(now[5], options.max_evaluations));
  };
  const auto evaluate = [&](const Vars& now) -> Vars {
    const Var length = now[0];
    const Var point = from.point + cast(length, function.dtype()) * from.direction;
    const FlatParameters::Evaluation there = function.at(point);
    const Var slope = cast(dot(there.gradient, from.direction), f64);
    // A loss that is not a number is no decrease.
    const Var decreases =
        less_equal(there.loss, from.loss + options.decrease * length * from.slope);
    const Var flattens = greater_equal(slope, options.curvature * from.slope);
    const Var low = select(decreases, length, now[1]), high = select(decreases, now[2], length);
    const Var next = select(is_finite(high), 0.5 * (low + high), 2.0 * low);
    return {next,
            low,
            high,
            select(decreases, there.gradient, now[3]),
            logical_and(decreases, flattens),
            now[5] + 1};
  };
  const Vars last = loop(start, goes_on, evaluate).last;
  return {last[1], last[3]};
}

// The longest of length, length / 2, length / 4, … whose loss is small enough; 0 where none is.
Var track_back(const FlatParameters& function, const Search& from, const LbfgsOptions& options) {
  Graph& graph = from.point.graph();
  const Vars start = {from.length, scalar(graph, boolean, 0), scalar(graph, i64, 0)};
  const Vars last =
      loop(
          start,
          [&](const Vars& now) {
            return logical_and(logical_not(now[1]), less(now[2], options.max_evaluations));
          },
          [&](const Vars& now) -> Vars {
            const Var length = now[0];
            const Var there =
                function.loss_at(from.point + cast(length, function.dtype()) * from.direction);
            const Var decreases =
                less_equal(there, from.loss + options.decrease * length * from.slope);
            return {select(decreases, length, 0.5 * length), decreases, now[2] + 1};
          })
          .last;
  return select(last[1], last[0], 0.0);
}

// Puts a pair behind the others and drops the oldest.
Pairs with_pair(const Pairs& pairs, Var s, Var y) {
  const Var keep = greater(dot(s, y), kLeastCosine * sqrt(dot(s, s) * dot(y, y)));
  const auto shifted = [&](Var rows, Var row) {
    const Var next = concat({slice(rows, {{.axis = 0, .start = 1}}), expand_dims(row, 0)}, 0);
    return select(keep, next, rows);
  };
  return {shifted(pairs.s, s), shifted(pairs.y, y)};
}

// One iteration of L-BFGS that is being built.
class Iteration {
 public:
  Iteration(Var loss, const std::vector<Var>& parameters, const LbfgsOptions& options)
      : graph_(loss.graph()),
        options_(options),
        by_{.engine = options.engine, .at = options.gradient_at},
        function_(loss, parameters, by_),
        loss_(loss),
        point_(function_.join(parameters)),
        gradient_(function_.join(grad(loss, parameters, by_))),
        stored_{rows(".s"), rows(".y")} {}

  // Returns the change of the parameters.
  Var by_wolfe_search() {
    const Search search = search_along(stored_);
    const Found found = search_line(function_, search, options_);
    const Var change = along(search.direction, found.length);
    store(with_pair(stored_, change, found.gradient - gradient_));
    return change;
  }

  Var by_one_gradient() {
    const Var step = vector(".last_step"), before = vector(".last_gradient");
    const Pairs pairs = with_pair(stored_, step, gradient_ - before);
    store(pairs);
    const Search search = search_along(pairs);
    const bool searches = options_.line_search == LineSearch::backtracking;
    const Var change =
        along(search.direction, searches ? track_back(function_, search, options_) : search.length);
    updates_.push_back(assign(graph_, state_name(step), change));
    updates_.push_back(assign(graph_, state_name(before), gradient_));
    return change;
  }

  std::vector<Var> updates_moving(const std::vector<Var>& parameters, Var change) {
    const std::vector<Var> moved = function_.split(point_ + change);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      updates_.push_back(assign(graph_, state_name(parameters[i]), moved[i]));
    }
    return updates_;
  }

 private:
  Var rows(const char* what) const {
    return buffer(options_.name + what,
                  zeros(graph_, function_.dtype(), {options_.history, function_.size()}));
  }
  Var vector(const char* what) const {
    return buffer(options_.name + what, zeros(graph_, function_.dtype(), {function_.size()}));
  }

  Search search_along(const Pairs& pairs) const {
    const Var direction = -pairs.apply_inverse_hessian(gradient_);
    const Var first = less_equal(dot(index(pairs.s, 0, -1), index(pairs.y, 0, -1)), 0.0);
    const Var size = cast(sum(abs(gradient_)), f64);
    return {.point = point_,
            .direction = direction,
            .gradient = gradient_,
            .loss = cast(loss_, f64),
            .slope = cast(dot(gradient_, direction), f64),
            .length = options_.lr * select(first, minimum(1.0 / size, 1.0), 1.0)};
  }
  // Not by multiplying with 0: there may be no direction, either, where the loss is no number.
  Var along(Var direction, Var length) const {
    return select(greater(length, 0.0), cast(length, function_.dtype()) * direction, 0.0);
  }
  void store(const Pairs& pairs) {
    updates_.push_back(assign(graph_, state_name(stored_.s), pairs.s));
    updates_.push_back(assign(graph_, state_name(stored_.y), pairs.y));
  }

  Graph& graph_;
  const LbfgsOptions& options_;
  GradOptions by_;
  FlatParameters function_;
  Var loss_, point_, gradient_;
  Pairs stored_;
  std::vector<Var> updates_;
};

}  // namespace

std::vector<Var> lbfgs(Var loss, const LbfgsOptions& options) {
  require_lbfgs(loss, options);
  Graph& graph = loss.graph();
  const Var count = unwritten_step_count("lbfgs", graph, options.name);
  const std::vector<Var> parameters = trained_parameters("lbfgs", loss, options.parameters);
  Iteration iteration(loss, parameters, options);
  const Var change = options.line_search == LineSearch::wolfe ? iteration.by_wolfe_search()
                                                              : iteration.by_one_gradient();
  std::vector<Var> updates = iteration.updates_moving(parameters, change);
  updates.push_back(add_update(graph, state_name(count), scalar(graph, i64, 1)));
  return updates;
}

}  // namespace antichain::optim
