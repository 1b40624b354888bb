// What each guarantee of a gradient engine means, as checks on a set of models. A new engine joins
// by being in the session's engine set; one with settings (cycles, copies) also by a factory over
// its effort.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "antichain/autodiff/engine.h"
#include "tests/conformance/case_log.h"

namespace antichain::conformance {

/// A model with one region that an engine can be named for.
struct EngineModel {
  std::string name;
  /// Builds the loss from float64 inputs of these shapes; all inputs are differentiated.
  std::vector<Shape> inputs;
  std::function<Var(Graph&, const std::vector<Var>& inputs, const std::string& engine)> loss;
};
const std::vector<EngineModel>& engine_models();

/// Makes an engine; more effort (cycles, copies, active units) must give better gradients.
using MakeEngine = std::function<std::unique_ptr<GradientEngine>(int effort)>;

/// Equal to back-propagation up to rounding.
void check_exact(const MakeEngine& make, CaseLog& log);
/// The error falls with every unit of effort and reaches `tolerance` within `max_effort`.
void check_iterative(const MakeEngine& make, int max_effort, double tolerance, CaseLog& log);
/// The mean over runs agrees with back-propagation within its standard error, and the variance
/// falls as 1 / effort.
void check_unbiased(const MakeEngine& make, int runs, CaseLog& log);

}  // namespace antichain::conformance
