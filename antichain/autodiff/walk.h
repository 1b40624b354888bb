// The two walks over a graph that apply the ops' derivative rules. Iterative, linear in the ops
// between inputs and outputs. New ops go to the graph's current region, which may lie inside the
// region that is walked.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// Says how far a walk goes.
enum class Reach {
  region,  // rules of ops: inputs and outputs lie in one region, and captured values are constants
  graph,   // users: a captured value stands for what it depends on outside of the region
  inputs   // as graph, up to the inputs, which vary independently
};

/// Returns the ops that the values depend on, in build order, which is a topological order also
/// across regions. Nobody looks behind values for which `stops_at` holds.
std::vector<OpId> find_ancestors(Graph& graph, std::span<const Var> values, Reach reach,
                                 const std::function<bool(Var)>& stops_at = {});

/// Returns gradients of sum(outputs · output_grads) with respect to the inputs; none where there is
/// no dependence. Output gradients that are none are zero. Within a region and up to the inputs
/// these are partial derivatives: the inputs vary independently. Across the graph they are total
/// ones: inputs may depend on each other.
std::vector<Var> walk_back(Graph& graph, std::span<const Var> outputs,
                           std::span<const Var> output_grads, std::span<const Var> inputs,
                           Reach reach = Reach::region);
/// Returns tangents of the outputs for tangents of the inputs, which move independently; none where
/// there is no dependence.
std::vector<Var> walk_forward(Graph& graph, std::span<const Var> inputs,
                              std::span<const Var> tangents, std::span<const Var> outputs,
                              Reach reach = Reach::region);

/// Applies one op's reverse rule: its own, its engine's, or that of its decomposition.
std::vector<Var> op_vjp(Op op, const std::vector<Var>& output_grads,
                        const std::vector<bool>& needed);
/// Applies one op's forward rule: its own, that of its decomposition, or the transpose of its
/// reverse rule.
std::vector<Var> op_jvp(Op op, const std::vector<Var>& tangents);

/// Returns whether an op has a derivative: by rules of its own or by its decomposition.
bool has_derivative(const OpDef& def);

/// Returns why no gradient flows from the outputs to this input: the first op in the way that has
/// no derivative.
std::string why_no_gradient(Graph& graph, std::span<const Var> outputs, Var input);

}  // namespace antichain
