// Derivatives for users: gradients, vector-Jacobian and Jacobian-vector products, Jacobians. All of
// them extend the graph by ordinary ops, so they can be printed, compiled and differentiated again.
#pragma once

#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

struct GradOptions {
  // Who differentiates everything between the xs and y. Open: who the graph's EnginePlan names for
  // each part of the model, and back-propagation the rest.
  EngineChoice engine = {};
  // Cuts the way from the xs to y: the engine differentiates what lies between the xs and these
  // values; what lies between them and y is for the graph's EnginePlan, or else back-propagation.
  // The losses of the examples, for example, where y is their mean.
  std::vector<Var> at = {};
  bool zero_if_unused = false;  // zeros instead of an error for what y does not depend on
};

/// Returns dy/dx for each x: total derivatives of the sum of y's elements.
std::vector<Var> grad(Var y, const std::vector<Var>& xs, const GradOptions& options = {});
Var grad(Var y, Var x, const GradOptions& options = {});
/// Returns, for each x, the gradient of sum(ys · output_grads).
std::vector<Var> vjp(const std::vector<Var>& ys, const std::vector<Var>& output_grads,
                     const std::vector<Var>& xs, const GradOptions& options = {});
/// Returns, for each y, its derivative when the xs move along the tangents (independently of each
/// other).
std::vector<Var> jvp(const std::vector<Var>& ys, const std::vector<Var>& xs,
                     const std::vector<Var>& tangents);

enum class JacobianMode { automatic, reverse, forward };
/// Returns all partial derivatives: shape of y, then shape of x. Automatic takes forward mode when
/// x is the smaller.
Var jacobian(Var y, Var x, JacobianMode mode = JacobianMode::automatic);
/// Returns the Hessian of the sum of y's elements times v, by forward over reverse.
Var hessian_vector_product(Var y, Var x, Var v);

}  // namespace antichain
