// Checks of an op's derivatives, in float64.
#pragma once

#include "antichain/graph/op_def.h"
#include "tests/conformance/case_log.h"

namespace antichain::conformance {

/// Returns whether the op has a derivative at all.
bool has_derivative(const OpDef& def);
/// vjp against central differences; jvp against vjp and against central differences; vjp of vjp
/// against central differences of the vjp.
void check_derivatives(const OpDef& def, const Sample& sample, CaseLog& log);
/// An op without a derivative refuses with its reason.
void check_refuses_gradient(const OpDef& def, const Sample& sample, CaseLog& log);

}  // namespace antichain::conformance
