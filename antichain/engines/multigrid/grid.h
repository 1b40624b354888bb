// One grid of a multigrid solve: a recurrence u[n + 1] = Φ[n](u[n]) + rhs[n], whose points are the
// states before each step and after the last one, in the order in which the chain runs.
//
// Every m-th point is a C-point. Between two C-points lies an interval of m steps; where the number
// of steps is no multiple of m, fewer steps, the rest, follow the last interval. All intervals are
// relaxed side by side, as copies of one computation, so that it makes no difference to the numbers
// who computes which of them: either as one computation for all intervals at once, or in groups, of
// which each steps through its intervals one after the other. Groups need nothing of each other, so
// that the runtime may give each to a thread of its own.
#pragma once

#include "antichain/engines/multigrid/coarse_step.h"

namespace antichain::multigrid {

/// States of a grid: those before each step, [steps, shape...] each, and those after the last.
struct Trajectory {
  Vars before, last;
  Vars ys = {};  // of each step, on the finest grid
  /// Returns the states after each step.
  Vars after() const;
};

// States of coarse grids, and those at the C-points of the finest one, have the types of
// wide_states.h; the steps of the finest grid, and all bodies, those of the chain.
class Grid {
 public:
  /// The grid of a chain itself.
  static Grid finest(Op chain, CoarseStep coarse);
  /// Returns the next coarser grid: a step of it stands for `coarsening` of this one.
  Grid coarser(std::int64_t coarsening) const;

  Dim length() const { return length_; }
  std::int64_t stride() const { return stride_; }
  /// Steps from a point on, one after the other. `rhs`, one per state and [steps, shape...] each,
  /// is added to what the steps return; empty: nothing is.
  Trajectory walk(const Vars& start, const Vars& rhs) const;
  /// Returns what each step makes of the states before it, all at once or in so many groups.
  Vars apply(const Vars& before, std::int64_t groups = 0) const;

 protected:
  Grid(Op chain, CoarseStep coarse, std::int64_t stride, Vars xs, Dim length);

  Trajectory walk(const Vars& start, const Vars& xs, const Vars& rhs, Dim length) const;
  // One step: x slices, then right-hand sides.
  StepResult step(const Vars& states, std::span<const Var> slices) const;
  Vars apply_in_groups(const Vars& before, std::int64_t groups) const;

  Op chain_;
  CoarseStep coarse_;
  std::int64_t stride_;
  GridStep step_;
  Vars xs_;  // positions, then the sequences, in the order of the steps
  Dim length_;
  std::size_t num_states_;

  friend class CutGrid;
};

/// A grid cut into intervals.
class CutGrid {
 public:
  /// `groups`: of intervals; 0: all of them as one computation.
  CutGrid(Grid grid, std::int64_t coarsening, std::int64_t groups = 0);

  const Grid& grid() const { return grid_; }
  Dim num_intervals() const { return intervals_; }
  /// Returns what is at the ends of the intervals, of values after each step.
  Vars at_interval_ends(const Vars& after) const;
  /// Returns the states at the begins of the intervals, of those at their ends.
  Vars begins(const Vars& start, const Vars& ends) const;
  /// F-relaxation: steps through all intervals side by side and returns the states at their ends.
  Vars relax(const Vars& begins, const Vars& rhs) const;
  /// Does so and returns all states, those of the rest too, and what else the steps return.
  Trajectory relax_to_all(const Vars& begins, const Vars& start, const Vars& rhs) const;

 private:
  struct Sweep {
    Vars last, before, ys;  // last: [intervals, ...], the others: [steps in intervals, ...]
  };
  Sweep sweep(const Vars& begins, const Vars& rhs) const;
  Sweep sweep_at_once(const Vars& begins, const Vars& rhs) const;
  Sweep sweep_in_groups(const Vars& begins, const Vars& rhs) const;
  Var in_intervals(Var sequence) const;  // [coarsening, intervals, ...]
  Var in_sequence(Var in_intervals) const;
  Vars rest_of(const Vars& sequences) const;

  Grid grid_;
  std::int64_t coarsening_, groups_;
  Dim intervals_, inside_;  // inside_: steps that are in an interval
  Vars xs_;                 // in intervals
};

}  // namespace antichain::multigrid
