// Ops of a region computed for many runs of it at once: values get one more axis in front, along
// which the runs lie. The steps of a chain are such runs where nothing is carried between them, and
// so are unit vectors along which a region is differentiated.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// A value of a region as it is outside: those of all runs, stacked along a new first axis, or one
/// that is the same in all of them. Stacked values may have size 1 along axes that they have other
/// sizes along inside: they are the same everywhere along them, and stay so as long as they can.
struct Stacked {
  Var value;
  bool stacked = false;
};

/// Returns whether an op has a rule by which ordinary ops compute it for all runs at once.
bool has_stacking_rule(Op op);

/// Computes an op for `length` runs, given what its inputs are outside, in the graph's current
/// region: once if nothing differs between the runs, by its rule, or else run by run, as a chain
/// that carries nothing. The op must have no effect.
std::vector<Stacked> compute_stacked(Op op, std::span<const Stacked> inputs, Dim length);

/// Returns a value that has `shape` inside with its axis of runs, repeated where it is the same in
/// all of them.
Var all_runs(const Stacked& value, const Dims& shape, Dim length);

/// Computes a region for `length` runs, with `arguments` for its parameters, and returns its
/// results. Results that nobody else shares may be the same in all runs.
std::vector<Stacked> stack_region(Graph& graph, RegionId region, std::span<const Stacked> arguments,
                                  Dim length);

/// Says why a region cannot be computed for many runs at once: it has effects, or sizes that only a
/// run finds out. Empty if it can.
std::string why_not_stackable(Graph& graph, RegionId region);

}  // namespace antichain
