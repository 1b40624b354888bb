// The two walks over a graph that apply the ops' derivative rules. Iterative, linear in the ops
// between inputs and outputs. New ops go to the graph's current region, which may lie inside the
// region that is walked.
#pragma once

#include <span>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// Says whether a walk goes on behind an input that depends on another input.
enum class AtInputs {
  stop,         // partial derivatives: the inputs vary independently
  pass_through  // total derivatives
};

/// Returns gradients of sum(outputs · output_grads) with respect to the inputs; none where there is
/// no dependence. Output gradients that are none are zero.
std::vector<Var> walk_back(Graph& graph, std::span<const Var> outputs,
                           std::span<const Var> output_grads, std::span<const Var> inputs,
                           AtInputs at_inputs = AtInputs::stop);
/// Returns tangents of the outputs for tangents of the inputs; none where there is no dependence.
std::vector<Var> walk_forward(Graph& graph, std::span<const Var> inputs,
                              std::span<const Var> tangents, std::span<const Var> outputs);

/// Applies one op's reverse rule: its own, its engine's, or that of its decomposition.
std::vector<Var> op_vjp(Op op, const std::vector<Var>& output_grads,
                        const std::vector<bool>& needed);
/// Applies one op's forward rule: its own, that of its decomposition, or the transpose of its
/// reverse rule.
std::vector<Var> op_jvp(Op op, const std::vector<Var>& tangents);

/// Returns why no gradient flows from the outputs to this input: the first op in the way that has
/// no derivative.
std::string why_no_gradient(Graph& graph, std::span<const Var> outputs, Var input);

}  // namespace antichain
