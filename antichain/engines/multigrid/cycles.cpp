#include "antichain/engines/multigrid/cycles.h"

#include <limits>

#include "antichain/engines/multigrid/kept_guess.h"
#include "antichain/engines/multigrid/wide_states.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::multigrid {

namespace {

Vars difference(const Vars& a, const Vars& b) {
  Vars result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    result.push_back(a[i] - b[i]);
  }
  return result;
}

Var sum_of_squares(Graph& graph, const Vars& values) {
  Var total = scalar(graph, f64, 0);
  for (Var value : values) {
    if (is_float(value.dtype())) {
      total = total + cast(sum(square(value)), f64);
    }
  }
  return total;
}

// What a C-relaxation leaves: a part of what was found, the rest of what was there before.
Vars weighted(double weight, const Vars& found, const Vars& before) {
  Vars result = found;
  for (std::size_t i = 0; i < found.size() && weight != 1; ++i) {
    if (is_float(found[i].dtype())) {
      result[i] = before[i] + weight * (found[i] - before[i]);
    }
  }
  return result;
}

}  // namespace

Cycles::Residual Cycles::residual(Graph& graph, const Vars& relaxed, const Vars& ends) {
  const Var size = sqrt(sum_of_squares(graph, relaxed));
  const Var miss = sqrt(sum_of_squares(graph, difference(relaxed, ends)));
  return {miss, select(greater(miss, 0), miss / size, miss)};
}

std::int64_t num_levels(Dim length, const SolveOptions& options) {
  const DimRange range = length.range();
  std::int64_t levels = 1;
  for (std::int64_t least = range.min; levels < options.levels; ++levels) {
    least /= options.coarsening;
    if (least < options.coarsest && length.is_constant()) {
      break;
    }
  }
  return levels;
}

Cycles::Cycles(Op chain, const SolveOptions& options) : options_(options), chain_(chain) {
  Grid grid = Grid::finest(chain, options_.coarse);
  const std::int64_t levels = num_levels(grid.length(), options_);
  for (std::int64_t level = 1; level < levels; ++level) {
    coarse_.push_back(grid.coarser(options_.coarsening));
    cut_.emplace_back(grid, options_.coarsening, options_.groups);
    grid = coarse_.back();
  }
}

// The states after each step of a coarse grid, from its own steps alone.
Vars Cycles::guess(std::size_t level, const Vars& start) const {
  if (is_coarsest(level)) {
    return coarse_[level - 1].walk(start, {}).after();
  }
  const CutGrid& cut = cut_[level];
  return cut.relax_to_all(cut.begins(start, guess(level + 1, start)), start, {}).after();
}

Vars Cycles::first_ends(const Vars& start) const {
  if (options_.guess == Guess::coarse || keeps_guess(options_)) {  // nothing is kept yet, or here
    return guess(1, start);
  }
  Vars ends;
  for (Var state : start) {
    Dims shape = state.shape();
    shape.insert(shape.begin(), cut_[0].num_intervals());
    ends.push_back(options_.guess == Guess::first ? broadcast_to(expand_dims(state, 0), shape)
                                                  : zeros(state.graph(), state.dtype(), shape));
  }
  return ends;
}

Vars Cycles::first_ends(const Vars& start, const From& from) const {
  if (from.ends.empty()) {
    return first_ends(start);
  }
  return cond(
      from.is_known, [&] { return widened(captured_here(chain_.graph(), from.ends)); },
      [&] { return first_ends(captured_here(chain_.graph(), start)); }, {}, chain_.location());
}

Cycles::AtEnds Cycles::cycle(std::size_t level, const Vars& start, const Vars& ends,
                             const Vars& rhs, bool is_f) const {
  const CutGrid& cut = cut_[level];
  Vars known = ends, begins = cut.begins(start, known);
  Vars relaxed = cut.relax(begins, rhs);
  const Residual before = level == 0 ? residual(chain_.graph(), relaxed, known) : Residual();
  const std::int64_t more = level == 0 ? options_.relaxations : options_.coarse_relaxations;
  for (std::int64_t n = 0; n < more; ++n) {
    known = weighted(options_.relaxation_weight, relaxed, known);
    begins = cut.begins(start, known);
    relaxed = cut.relax(begins, rhs);
  }
  const Vars coarse_rhs = difference(relaxed, coarse_[level].apply(begins, options_.groups));
  return {solve_coarse(level + 1, start, known, coarse_rhs, is_f), before};
}

Vars Cycles::solve_coarse(std::size_t level, const Vars& start, const Vars& guess, const Vars& rhs,
                          bool is_f) const {
  if (is_coarsest(level)) {
    return coarse_[level - 1].walk(start, rhs).after();
  }
  const CutGrid& cut = cut_[level];
  Vars ends = cycle(level, start, cut.at_interval_ends(guess), rhs, is_f).states;
  if (is_f) {
    ends = cycle(level, start, ends, rhs, /*is_f=*/false).states;
  }
  return cut.relax_to_all(cut.begins(start, ends), start, rhs).after();
}

// Cycles are one body, however many they are.
Cycles::AllCycles Cycles::run_all(const Vars& start, const Vars& ends, Var most_cycles) const {
  Graph& graph = chain_.graph();
  const Place place = chain_.location();
  const auto one_cycle = [&](const Vars& states) {
    const Vars before(states.begin(), states.begin() + static_cast<long>(start.size()));
    const AtEnds found = cycle(0, start, before, {}, options_.f_cycle);
    Vars next = found.states;
    next.push_back(found.residual.norm);
    next.push_back(found.residual.part);
    return next;
  };
  const Var unknown = scalar(graph, f64, std::numeric_limits<double>::infinity());
  Vars states = ends;
  states.insert(states.end(), {unknown, unknown});
  Var cycles = scalar(graph, i64, static_cast<double>(options_.cycles));
  if (options_.tolerance > 0 || options_.absolute_tolerance > 0 || most_cycles.valid()) {
    const Var most = most_cycles.valid() ? most_cycles : cycles;
    states.push_back(scalar(graph, i64, 0));
    const LoopResult found = loop(
        states,
        [&](const Vars& s) {
          const Var is_small = logical_or(less_equal(s[s.size() - 3], options_.absolute_tolerance),
                                          less_equal(s[s.size() - 2], options_.tolerance));
          return logical_and(less(s.back(), most), logical_not(is_small));
        },
        [&](const Vars& s) {
          Vars next = one_cycle(s);
          next.push_back(s.back() + 1);
          return next;
        },
        {.engine = kBackprop}, place);
    states = found.last;
    cycles = states.back();
    states.pop_back();
  } else if (options_.cycles == 1) {
    states = one_cycle(states);
  } else {
    states = chain(
                 states, {},
                 [&](Var, const Vars& s, const Vars&) -> StepResult { return {one_cycle(s)}; },
                 {.engine = kBackprop, .length = options_.cycles}, place)
                 .last;
  }
  const Var before = states.back();
  states.resize(states.size() - 2);
  return {states, before, cycles};
}

Cycles::Outcome Cycles::solve(const Vars& first, const From& from) const {
  const Vars start = widened(first);
  const AllCycles found = run_all(start, first_ends(start, from), from.most_cycles);
  const CutGrid& cut = cut_[0];
  Vars ends = found.ends;
  if (options_.final_fcf) {
    ends = cut.relax(cut.begins(start, ends), {});
  }
  Outcome outcome{.states = cut.relax_to_all(cut.begins(start, ends), start, {}),
                  .cycles = found.cycles};
  const Vars relaxed = widened(cut.at_interval_ends(outcome.states.after()));
  outcome.residual = residual(chain_.graph(), relaxed, ends).part;
  outcome.ratio = outcome.residual / found.residual;
  return outcome;
}

}  // namespace antichain::multigrid
