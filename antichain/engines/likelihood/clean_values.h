// Values of a region without noise, built one by one where they are asked for.
#pragma once

#include <unordered_set>
#include <vector>

#include "antichain/graph/clone.h"
#include "antichain/graph/engine_choice.h"

namespace antichain::likelihood {

/// Returns the engine of an op in a region whose engine is this one. A plan that names it for a
/// whole model names it for the chains in the model, too: those are differentiated exactly.
EngineChoice own_choice(Op op);
/// Copies an op with that engine.
void copy_as_part(Cloner& cloner, Op op);
/// Returns the results of a region, built in the current region with these arguments.
std::vector<Var> clean_results(Graph& graph, RegionId region, const std::vector<Var>& arguments);

class CleanValues {
 public:
  /// Builds values in the current region, with `arguments` for the parameters of `region`.
  CleanValues(Graph& graph, RegionId region, const std::vector<Var>& arguments);

  /// Returns what stands for a value of the region; builds the ops that it takes.
  Var operator()(Var original);

 private:
  Graph& graph_;
  std::vector<Op> ops_;
  Cloner cloner_;
  std::unordered_set<VarId> known_;
};

}  // namespace antichain::likelihood
