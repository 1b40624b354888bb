// What models over very many labels share: how the output layer is trained, and what is measured of
// the labels that it ranks first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antichain/nn/losses.h"
#include "recipes/recipe.h"

namespace antichain {

/// Returns the option `output` with these choices.
OptionSpec output_option(const std::vector<std::string>& choices, const std::string& doc);
/// Sets `engine` to `hashed` for output=hashed, where the user has left it alone. Throws
/// InvalidArgument where the engine hashing is asked for and the output is one that it does not
/// compute.
void settle_output(Settings& settings, const std::string& hashed);

/// Returns x, the values of a hidden layer behind its relu, with some of its units switched off
/// where the settings say output=dropout or output=adaptive-dropout; `active` is the part that is
/// kept.
Var with_active_units(const ModelContext& context, Var x, double active);

/// What is known of the labels of a set.
struct LabelFacts {
  std::int64_t count = 0;
  std::vector<std::int64_t> frequencies;     // in the training set
  std::vector<double> inverse_propensities;  // what a rare label counts for
};

/// Returns the options of an output layer over very many labels: see build_output().
std::vector<OptionSpec> label_options();
/// Returns the objective of an output layer on x[examples, features] that is trained as the option
/// `output` says and, in evaluation, computed for every label: P@k and PSP@k besides the loss.
Objective build_output(const ModelContext& context, Var x, const nn::LabelSets& truth,
                       const LabelFacts& labels);

}  // namespace antichain
