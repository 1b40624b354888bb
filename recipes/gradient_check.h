// The gradients of a recipe by one engine, against back-propagation in float64.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "antichain/graph/state_store.h"
#include "recipes/recipe.h"

namespace antichain {

struct ParameterError {
  std::string parameter;
  double relative_error = 0;  // |g - g64| / |g64|, Euclidean norms; |g| itself where g64 is 0
  double cosine = 0;          // of the angle between them; 1 where both are 0
};

struct GradientCheck {
  std::vector<ParameterError> parameters;
  double loss = 0, loss_f64 = 0;
  double cosine = 0;  // of the angle between the gradients of all parameters together
  // Of an engine that estimates gradients: of what it estimates, as a part of its length.
  std::optional<double> standard_error = {};

  double max_relative_error() const;
};

/// Computes the gradients of the first batch twice: by the engine that the settings name, in the
/// precision that they name (of a scaled loss where training scales it), and by back-propagation in
/// float64 from the same parameters. These are the initial ones or, where values are given, those
/// of a trained model.
GradientCheck check_gradients(const Recipe& recipe, const RecipeContext& context,
                              const StateStore::Values& trained = {});

}  // namespace antichain
