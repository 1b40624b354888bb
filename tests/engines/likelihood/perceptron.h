// A small classifier that the engine is tried on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "antichain/session/session.h"

namespace antichain::likelihood_tests {

using Numbers = std::vector<double>;

/// Layers of these widths with an activation in between; the loss of each example.
struct Perceptron {
  std::int64_t examples = 6, features = 5;
  std::vector<std::int64_t> widths = {7, 3};
  std::function<Var(Var)> activation;
  std::function<Var(Var outputs, Var labels)> losses;
  DType dtype = DType::f64;

  /// Builds the losses; parameters and inputs are constants that depend on the shapes alone.
  Var build(Graph& graph) const;
};

/// Returns the gradients of the mean loss, all in one row, by an engine: one row per run.
std::vector<Numbers> gradients(const Perceptron& model, const std::string& engine, int runs = 1,
                               std::uint64_t seed = 1);
Numbers mean_of(const std::vector<Numbers>& rows);
double cosine(const Numbers& a, const Numbers& b);
double relative_error(const Numbers& got, const Numbers& want);

}  // namespace antichain::likelihood_tests
