// Examples that are harder to classify than those of the data: with noise in their inputs, or moved
// against a model by its gradient.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "antichain/data/dataset.h"
#include "antichain/runtime/executable.h"
#include "recipes/recipe.h"

namespace antichain {

class Session;

/// How far floating-point inputs are moved, and where to.
struct Perturbation {
  enum class Kind {
    fgsm,  // up the sign of the loss's gradient (Goodfellow et al. 2015)
    noise  // normal noise
  };
  Kind kind = Kind::noise;
  double size = 0;  // of the move of a value; the deviation of noise
};

/// Parses "fgsm:SIZE" or "noise:SIZE".
Perturbation parse_perturbation(std::string_view text);

struct PerturbedInputs {
  std::vector<std::string> names;
  std::vector<Var> values;
};

/// Builds, in the graph of the model, its floating-point inputs as they are when moved. They stay
/// within the range that the values of an input have in a batch. Gradients are those of the mean
/// loss, by the engines that the graph has chosen: of a model without slopes by what estimates
/// them. `example` tells sizes that may be expected.
PerturbedInputs perturbed_inputs(Session& session, const Task& task, const ModelContext& context,
                                 const Perturbation& perturbation, const data::Batch& example);

/// Returns a set with the inputs that an executable yields, in the order of `names`, and all else
/// as it is.
data::DatasetPtr perturbed_set(const Executable& executable, const std::vector<std::string>& names,
                               const data::DatasetPtr& set, std::int64_t batch);

}  // namespace antichain
