// What all optimisers share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "antichain/graph/graph.h"

namespace antichain::optim {

/// Says whether a parameter is meant.
using ParameterFilter = std::function<bool(Var parameter)>;

/// Takes parameters whose name begins so: "encoder." for all of a scope.
ParameterFilter named(std::string prefix);
/// Takes parameters with two axes or more, and so leaves out biases and the scales of norms.
ParameterFilter matrices();
/// Takes tables that the graph uses by looking rows up alone: those of embedding, embedding_bag,
/// gather and csr_matmul (of sparse features, by their weight), as far as the graph is built when
/// the optimiser is.
ParameterFilter looked_up();

/// The loss is multiplied by `scale` before it is differentiated and the gradients are divided by
/// it, so that small ones survive in 16 bits (Micikevicius et al., 2018, section 3.2).
struct LossScaling {
  double scale = 1;             // at the beginning
  std::int64_t grow_after = 0;  // dynamic: doubled after so many good steps, halved when a gradient
                                // is not finite, and that step is left out; 0: never changed
};

struct StepOptions {
  ParameterFilter parameters = {};  // which are trained; empty: all that the loss depends on
  ParameterFilter decays = {};      // which weight decay applies to; empty: all that are trained
  // Whose rows stay as they are in a step in which their gradient is zero: parameter, moments and
  // all, without weight decay. A step then takes time for the rows in use, not for the table.
  // Empty: none, every element follows the rule in every step.
  ParameterFilter lazy_rows = {};
  EngineChoice engine = {};               // who differentiates
  std::vector<Var> gradient_at = {};      // where the gradient is cut; see GradOptions::at
  std::optional<double> clip_norm = {};   // of all gradients together (Pascanu et al., 2013)
  std::optional<double> clip_value = {};  // largest absolute value of an element, after clip_norm
  std::int64_t accumulate = 1;  // a step every so many runs, with the mean of their gradients
  LossScaling loss_scaling = {};
  std::string name = "optimiser";  // of its states; two optimisers in a graph need two names
};

}  // namespace antichain::optim
