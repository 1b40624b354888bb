#include "antichain/engines/multigrid/coarse_step.h"

#include <unordered_set>

#include "antichain/engines/multigrid/body_on_grid.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::multigrid {

namespace {

// Whether a value is `state` plus or minus other terms.
bool is_state_plus(Var value, Var state) {
  Vars terms = {value};
  while (!terms.empty()) {
    const Var term = terms.back();
    terms.pop_back();
    if (term == state) {
      return true;
    }
    if (made_by(term, add_def())) {
      terms.push_back(term.producer().input(0));
      terms.push_back(term.producer().input(1));
    } else if (made_by(term, subtract_def())) {
      terms.push_back(term.producer().input(0));
    }
  }
  return false;
}

bool has_residual_body(Op chain) {
  Graph& graph = chain.graph();
  const RegionInfo& body = graph.region(chain.regions()[0]);
  for (int i = 0; i < ChainLayout(chain).states; ++i) {
    const Var before = graph.var(body.params[static_cast<std::size_t>(1 + i)]);
    if (is_float(before.dtype()) &&
        !is_state_plus(graph.var(body.results[static_cast<std::size_t>(i)]), before)) {
      return false;
    }
  }
  return true;
}

// Builds the step of one grid; the region that holds it is open.
class StepBuilder {
 public:
  StepBuilder(Op chain, Vars arguments, std::int64_t stride)
      : chain_(chain),
        arguments_(std::move(arguments)),
        states_(static_cast<std::size_t>(ChainLayout(chain).states)),
        stride_(stride) {}

  Vars build(CoarseStep coarse) const {
    const Vars u = {arguments_.begin() + 1, arguments_.begin() + 1 + static_cast<long>(states_)};
    if (stride_ == 1) {
      return body(u, {});
    }
    switch (coarse) {
      case CoarseStep::rescaled: return rescaled(u, s());
      case CoarseStep::rescaled2: return rescaled_to_second_order(u);
      case CoarseStep::plain: return moved(u, changes(u), s());
      case CoarseStep::matched: return matched(u);
      case CoarseStep::matched3: return matched_to_third_order(u);
      case CoarseStep::same:
      case CoarseStep::chosen: break;
    }
    return states_of(body(u, {}));
  }

 private:
  double s() const { return static_cast<double>(stride_); }

  Vars body(const Vars& states, const GridOfBody& grid) const {
    Vars arguments = arguments_;
    std::copy(states.begin(), states.end(), arguments.begin() + 1);
    return inline_body(chain_.graph(), chain_.regions()[0], arguments, grid);
  }
  Vars states_of(Vars results) const {
    results.resize(states_);
    return results;
  }
  Vars changes(const Vars& u) const {
    Vars result = states_of(body(u, {}));
    for (std::size_t i = 0; i < states_; ++i) {
      result[i] = result[i] - u[i];
    }
    return result;
  }
  static Var times(double factor, Var change) {
    return is_float(change.dtype()) ? factor * change : static_cast<std::int64_t>(factor) * change;
  }
  static Vars moved(Vars u, const Vars& change, double factor) {
    for (std::size_t i = 0; i < u.size(); ++i) {
      u[i] = u[i] + times(factor, change[i]);
    }
    return u;
  }
  // Integers have no parts of steps: they stay, and go plainly at the end.
  static Vars partly_moved(Vars u, const Vars& change, double factor) {
    for (std::size_t i = 0; i < u.size(); ++i) {
      u[i] = is_float(u[i].dtype()) ? u[i] + times(factor, change[i]) : u[i];
    }
    return u;
  }
  Vars moved_by(Vars u, const Vars& first, double first_part, const Vars& later,
                double later_part) const {
    for (std::size_t i = 0; i < u.size(); ++i) {
      if (!is_float(u[i].dtype())) {
        u[i] = u[i] + times(s(), first[i]);
      } else if (first_part == 0) {
        u[i] = u[i] + times(later_part, later[i]);
      } else {
        u[i] = u[i] + (times(first_part, first[i]) + times(later_part, later[i]));
      }
    }
    return u;
  }
  Vars matched(const Vars& u) const {
    const Vars first = changes(u);
    return moved_by(u, first, 0, changes(partly_moved(u, first, (s() - 1) / 2)), s());
  }
  Vars rescaled(const Vars& u, double stride) const {
    return states_of(body(u, {.stride = stride, .is_coarse = true}));
  }
  // A step of stride s misses the flow by C s^2 in first order, two of half the stride by
  // C s^2 / 2, and the s steps that are meant by C s: this is the mean of the first two that misses
  // it so.
  Vars rescaled_to_second_order(const Vars& u) const {
    const Vars whole = rescaled(u, s()), halves = rescaled(rescaled(u, s() / 2), s() / 2);
    const double part = 2 / s() - 1;
    Vars result = halves;
    for (std::size_t i = 0; i < states_ && part != 0; ++i) {
      if (is_float(u[i].dtype())) {
        result[i] = halves[i] + part * (whole[i] - halves[i]);
      }
    }
    return result;
  }
  // Of s steps u + d(u), the terms d, d'd, d''dd and d'd'd occur s, s(s - 1)/2, s(s - 1)(2s - 1)/12
  // and s(s - 1)(s - 2)/6 times. This has as many; for large s it is Heun's method of third order.
  Vars matched_to_third_order(const Vars& u) const {
    const Vars first = changes(u);
    const Vars second = changes(partly_moved(u, first, (s() - 2) / 3));
    const Vars third = changes(partly_moved(u, second, (2 * s() - 1) / 3));
    const double part = 3 * s() * (s() - 1) / (2 * (2 * s() - 1));
    return moved_by(u, first, s() - part, third, part);
  }

  Op chain_;
  Vars arguments_;
  std::size_t states_;
  std::int64_t stride_;
};

}  // namespace

CoarseStep coarse_step_of(Op chain, CoarseStep asked) {
  if (asked != CoarseStep::chosen) {
    return asked;
  }
  if (has_own_coarse_step(chain.graph(), chain.regions()[0])) {
    return CoarseStep::rescaled;
  }
  if (says_coarse_step(chain.graph(), chain.regions()[0])) {
    return CoarseStep::rescaled2;
  }
  return has_residual_body(chain) ? CoarseStep::matched : CoarseStep::chosen;
}

std::string no_coarse_step() {
  return "its step is not a state plus a change, so nobody knows a step of the coarse grids: "
         "multiply the step size by grid_stride() or return on_coarse_grids(fine, coarse) in the "
         "body, or name one of coarse=matched, plain, same";
}

bool takes_means(CoarseStep coarse) {
  return coarse == CoarseStep::matched || coarse == CoarseStep::matched3 ||
         coarse == CoarseStep::rescaled || coarse == CoarseStep::rescaled2;
}

GridStep grid_step(Op chain, CoarseStep coarse, std::int64_t stride) {
  Graph& graph = chain.graph();
  const ChainLayout layout(chain);
  const Vars params = graph.vars(graph.region(chain.regions()[0]).params);
  RegionScope scope(graph);
  Vars arguments;
  for (int i = 0; i < 1 + layout.first_captured(); ++i) {
    arguments.push_back(scope.param(params[static_cast<std::size_t>(i)].type()));
  }
  for (int i = layout.first_captured(); i < chain.num_inputs(); ++i) {
    arguments.push_back(graph.capture(chain.input(i)));
  }
  const RegionId region = scope.finish(StepBuilder(chain, arguments, stride).build(coarse));
  return {region, scope.captures()};
}

}  // namespace antichain::multigrid
