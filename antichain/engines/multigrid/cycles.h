// Multigrid cycles: the full approximation scheme in time (FAS-MGRIT: Falgout et al., 2014; Günther
// et al., 2020: "Layer-parallel training of deep residual neural networks").
//
// With the states u at the C-points and p, what F-relaxation makes of them at the next ones, the
// coarse problem is
//   v[c + 1] = Φ_c(v[c]) + (p[c + 1] - Φ_c(u[c])),
// and its solution is u from then on. It changes nothing once u = p; and with every cycle one more
// interval, from the start, is what the steps one after the other give.
#pragma once

#include <vector>

#include "antichain/engines/multigrid/grid.h"

namespace antichain::multigrid {

/// A chain on all of its grids.
class Cycles {
 public:
  Cycles(Op chain, const SolveOptions& options);

  /// How a solve went.
  struct Outcome {
    Trajectory states;
    Var cycles;    // that were run: i64
    Var residual;  // of the states that are returned, as a part of them
    Var ratio;     // of this residual to the one a cycle before
  };
  /// What only a run knows; none: as the options say.
  struct From {
    Vars ends = {};        // first guess of the states at the ends of intervals
    Var is_known = {};     // whether there is one
    Var most_cycles = {};  // i64
  };
  Outcome solve(const Vars& start, const From& from) const;

 private:
  // How far states are from what the intervals make of them: the norm, and as a part of theirs.
  struct Residual {
    Var norm, part;
  };
  struct AtEnds {  // of the intervals of the finest grid
    Vars states;
    Residual residual;  // before the cycle
  };
  static Residual residual(Graph& graph, const Vars& relaxed, const Vars& ends);
  bool is_coarsest(std::size_t level) const { return level == cut_.size(); }
  Vars guess(std::size_t level, const Vars& start) const;
  Vars first_ends(const Vars& start) const;
  Vars first_ends(const Vars& start, const From& from) const;
  AtEnds cycle(std::size_t level, const Vars& start, const Vars& ends, const Vars& rhs,
               bool is_f) const;
  Vars solve_coarse(std::size_t level, const Vars& start, const Vars& guess, const Vars& rhs,
                    bool is_f) const;
  struct AllCycles {
    Vars ends;
    Var residual, cycles;  // the residual: before the last cycle, as a part of the states
  };
  AllCycles run_all(const Vars& start, const Vars& ends, Var most_cycles) const;

  SolveOptions options_;
  std::vector<CutGrid> cut_;  // all grids but the coarsest
  std::vector<Grid> coarse_;  // all grids but the finest
  Op chain_;
};

/// Returns how many grids a solve of so many steps has; 1 where multigrid is none.
std::int64_t num_levels(Dim length, const SolveOptions& options);

}  // namespace antichain::multigrid
