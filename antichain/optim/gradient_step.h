// From a loss to the step of an optimiser: gradients, unscaled, accumulated, clipped, then a rule
// for each parameter. Written once; an optimiser is its rule.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/ops/state/update_ops.h"
#include "antichain/optim/schedule.h"
#include "antichain/optim/step_options.h"

namespace antichain::optim {

/// What a rule sees: one parameter of one step.
struct ParameterStep {
  Var parameter, gradient;
  Var lr;               // f64
  Var number;           // f64: of this step, from 1
  double weight_decay;  // 0 for a parameter that the filter leaves out
  bool decays;          // whether the filter takes it
  GradientUse use;
  bool lazy_rows = false;  // rows whose gradient is zero stay as they are
  bool lock_free = false;  // likewise, by each example at once: see update_rows
  Var marked_rows = {};    // of those: bool, what the gradient may have other than zero; none: all

  Graph& graph() const { return parameter.graph(); }
  /// Declares the buffer "<parameter>.<what>" and returns its name.
  std::string buffer(std::string_view what, double initial = 0) const;
  /// Returns the gradient as the rule of an update sees it, for rules that need more of it.
  Var used_gradient() const;
  /// Changes the parameter, and buffers by name, by the rule of an op.
  Var update(const OpDef& rule, const std::vector<std::string>& buffers,
             const std::vector<Operand>& numbers) const;
};

struct StepPlan {
  std::string optimiser;  // for messages
  Schedule lr;
  double weight_decay = 0;
  const StepOptions& options;
  std::string needs_all_rows = {};  // why the rule has no lazy form; empty: it has one
};

/// Builds a step: `rule` returns the update of a parameter. Returns all updates.
std::vector<Var> gradient_step(Var loss, const StepPlan& plan,
                               const std::function<Var(const ParameterStep&)>& rule);

/// Returns step_count(graph, name) for a new optimiser of that name; throws InvalidArgument when
/// the graph has one already.
Var unwritten_step_count(std::string_view optimiser, Graph& graph, const std::string& name);
/// Returns the parameters that an optimiser of this loss trains.
std::vector<Var> trained_parameters(std::string_view optimiser, Var loss,
                                    const ParameterFilter& filter);

/// Returns the sum of squares of all elements (f64), and its root.
Var sum_of_squares(Var x);
Var norm(Var x);
/// Returns a / b, and 1 unless `positive` is above 0: what is 0 has no size to compare with.
Var ratio_or_one(Var a, Var b, Var positive);

// Checks of options; each throws one sentence that names optimiser and option.
void require_loss(std::string_view optimiser, Var loss);
void require_fraction(std::string_view optimiser, std::string_view option, double value);
void require_positive(std::string_view optimiser, std::string_view option, double value);
void require_not_negative(std::string_view optimiser, std::string_view option, double value);

}  // namespace antichain::optim
