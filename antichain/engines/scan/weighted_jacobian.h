// The Jacobians of a chain's steps as weights that stay the same, between diagonals that do not.
//
// A tangent of a value is kept as a sum of terms: a diagonal times a state, or a diagonal times a
// weight times a state. The states themselves have one term each. A product of a state with a
// weight has one, too; splitting it splits the weight; and an element-wise op multiplies the
// diagonals of its inputs' terms by its partial derivatives, which its forward rule does. That is
// all that recurrent cells consist of; whatever else touches a state makes a Jacobian of no such
// form.
#pragma once

#include <optional>
#include <string>

#include "antichain/engines/scan/joint_state.h"
#include "antichain/ops/scans/weighted_scan.h"

namespace antichain::scan {

struct WeightedJacobian {
  WeightedForm form;
  Vars weights;                  // each [units, units]
  Vars diagonals, coefficients;  // as the form lists them
};

/// Says why the steps of a chain have no such Jacobians; empty if they have.
std::string why_not_weighted(Op chain);

/// Returns those of all steps at once, given the states before and after each, one of both per part
/// of the joint state, in the current region. The chain must have them.
WeightedJacobian weighted_jacobian(const JointState& joint, const Vars& before, const Vars& after);

}  // namespace antichain::scan
