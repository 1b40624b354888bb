// Learned feedback: gradients at sites predicted from that at the next site, as a control variate.
// Whatever is predicted, the estimate has the same mean; the nearer, the less variance.
#pragma once

#include <optional>
#include <vector>

#include "antichain/engines/likelihood/example_rows.h"
#include "antichain/engines/likelihood/noise_sites.h"

namespace antichain::likelihood {

class Feedback {
 public:
  /// Predicts from the gradient by the values of the next site, or what is predicted of it:
  /// [examples, units].
  explicit Feedback(Var next) : next_(next) {}

  /// Returns whether it can predict for a site: values [examples, units] without a spread of their
  /// own, outside of chains, in a graph's root region.
  static bool supports(const Site& site, const std::optional<Rows>& rows);
  /// Returns the prediction for a site, by a matrix that is a state.
  Var predicted(const Site& site) const;
  /// Moves the matrix of a site by the part of the estimate that was not predicted; returns the
  /// write.
  Var learn(const Site& site, Var residual) const;

 private:
  Var matrix(const Site& site) const;

  Var next_;
};

}  // namespace antichain::likelihood
