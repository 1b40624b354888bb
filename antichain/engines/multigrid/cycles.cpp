#include "antichain/engines/multigrid/cycles.h"

#include <limits>

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

// How far the states at the ends of intervals are from what the intervals make of the states at
// their begins, as a part of them.
Var relative_residual(Graph& graph, const Vars& relaxed, const Vars& ends) {
  const Var size = sqrt(sum_of_squares(graph, relaxed));
  const Var miss = sqrt(sum_of_squares(graph, difference(relaxed, ends)));
  return select(greater(miss, 0), miss / size, miss);
}

}  // namespace

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
    cut_.emplace_back(grid, options_.coarsening);
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
  if (options_.guess == Guess::coarse) {
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

Cycles::AtEnds Cycles::cycle(std::size_t level, const Vars& start, const Vars& ends,
                             const Vars& rhs, bool is_f) const {
  const CutGrid& cut = cut_[level];
  Vars known = ends, begins = cut.begins(start, known);
  Vars relaxed = cut.relax(begins, rhs);
  const Var residual = level == 0 ? relative_residual(chain_.graph(), relaxed, known) : Var();
  if (level == 0 ? options_.relaxes_fcf : options_.relaxes_coarse_fcf) {
    known = relaxed;
    begins = cut.begins(start, known);
    relaxed = cut.relax(begins, rhs);
  }
  const Vars coarse_rhs = difference(relaxed, coarse_[level].apply(begins));
  return {solve_coarse(level + 1, start, known, coarse_rhs, is_f), residual};
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
    next.push_back(found.residual);
    return next;
  };
  Vars states = ends;
  states.push_back(scalar(graph, f64, std::numeric_limits<double>::infinity()));
  Var cycles = scalar(graph, i64, static_cast<double>(options_.cycles));
  if (options_.tolerance > 0 || most_cycles.valid()) {
    const Var most = most_cycles.valid() ? most_cycles : cycles;
    states.push_back(scalar(graph, i64, 0));
    const LoopResult found = loop(
        states,
        [&](const Vars& s) {
          return logical_and(less(s.back(), most),
                             logical_not(less_equal(s[s.size() - 2], options_.tolerance)));
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
  const Var residual = states.back();
  states.pop_back();
  return {states, residual, cycles};
}

Cycles::Outcome Cycles::solve(const Vars& start, Var most_cycles) const {
  const AllCycles found = run_all(start, first_ends(start), most_cycles);
  const CutGrid& cut = cut_[0];
  Outcome outcome{.states = cut.relax_to_all(cut.begins(start, found.ends), start, {}),
                  .cycles = found.cycles};
  const Vars relaxed = cut.at_interval_ends(outcome.states.after());
  outcome.residual = relative_residual(chain_.graph(), relaxed, found.ends);
  outcome.ratio = outcome.residual / found.residual;
  return outcome;
}

}  // namespace antichain::multigrid
