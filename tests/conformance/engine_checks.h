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

/// A model of wide layers, of whose units an engine may leave some out. Everything is float64, and
/// all parameters, of which x is one, are differentiated.
struct SampledModel {
  std::string name;
  int units;       // of the widest layer: with so much effort an engine leaves out nothing
  bool is_output;  // only the layer of the softmax: what is left out of its sum can be estimated
  std::int64_t examples;                                         // the last of them without labels
  std::function<Var(Graph&, const std::string& engine)> losses;  // of the examples
};
const std::vector<SampledModel>& sampled_models();
/// Returns the true labels of an example of a sampled model.
std::vector<std::int64_t> sampled_labels(std::int64_t example);

/// Makes an engine; more effort (cycles, copies, active units) must give better gradients.
using MakeEngine = std::function<std::unique_ptr<GradientEngine>(int effort)>;

/// Equal to back-propagation up to rounding.
void check_exact(const MakeEngine& make, CaseLog& log);
/// The error falls with every unit of effort and reaches `tolerance` within `max_effort`.
void check_iterative(const MakeEngine& make, int max_effort, double tolerance, CaseLog& log);
/// The mean over runs agrees with back-propagation within its standard error, and the variance
/// falls as 1 / effort.
void check_unbiased(const MakeEngine& make, int runs, CaseLog& log);
/// With all units, losses and gradients are equal to back-propagation up to rounding. With an
/// eighth, a quarter and a half of them the mean error of the gradient over runs falls. And of an
/// output layer, exp(loss - exact loss), the estimated sum of exp over all labels as a part of the
/// exact one, is 1 on average over runs and examples within its standard error, and no example's
/// softmax is further from the exact one than 2 max(r, r'): r is the exact share of what is not
/// known to be active, r' the estimated share of what is drawn (docs/design/hashing.md).
void check_sampled(const MakeEngine& make, int runs, CaseLog& log);

}  // namespace antichain::conformance
