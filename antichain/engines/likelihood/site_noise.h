// The noise of one site: its draws, and what they say about the gradient.
#pragma once

#include <cstdint>
#include <optional>

#include "antichain/engines/likelihood/example_rows.h"
#include "antichain/engines/likelihood/likelihood_options.h"
#include "antichain/engines/likelihood/orthogonal_rows.h"

namespace antichain::likelihood {

/// Noise of deviation 1 for some copies of a value, [copies, shape...], and the score of each draw:
/// the derivative of the logarithm of its density when the value moves, for a deviation of 1.
struct Draws {
  Var noise, score;
};

class SiteNoise {
 public:
  /// Draws `count` times for values of this shape; `rows` as ExampleRows says.
  SiteNoise(Dims shape, DType dtype, std::optional<Rows> rows, NoiseKind kind, std::int64_t count,
            Columns columns);

  std::int64_t count() const { return count_; }
  DType dtype() const { return dtype_; }
  /// Returns whether the sum over all copies is a matrix product, whose size their number leaves
  /// alone.
  bool sums_by_product() const { return pattern_.defined(); }
  /// Returns the draws of copies with these numbers (i64[copies]), which follow from the key and
  /// the number alone.
  Draws draw(Var key, Var numbers) const;
  /// Returns the sum over these copies of credit times score; credit [copies, losses] says how much
  /// more a copy's loss is than the baseline.
  Var estimate(Var key, Var numbers, Var credit) const;
  /// Does so without a product, for copies that are computed in groups.
  Var weighted_draws(Var key, Var numbers, Var credit) const;
  /// Returns the products of these copies' noise with values, summed by row: [copies, rows].
  Var project(Var key, Var numbers, Var values) const;
  /// Returns the sum over these copies of credit times (noise * score - 1): the derivative by the
  /// logarithm of the deviation.
  Var spread(Var key, Var numbers, Var credit) const;
  /// Returns the sum over these copies and all rows of credit times (score noiseᵀ - 1) along the
  /// last axis: [d, d].
  Var moments(Var key, Var numbers, Var credit) const;
  /// Returns credit of losses as that of the rows, or of everything: [copies, rows] or [copies].
  Var credit_of_rows(Var credit) const;
  /// Returns the error of an estimate from all copies, squared and summed over its elements, given
  /// the credit of all of them.
  Var squared_error(Var credit, Var estimate) const;

 private:
  Dim width() const;
  Var signs(Var key) const;
  Var spread_out(Var of_rows) const;
  Var credited(Var credit, Var draws) const;
  Var weighted_sum(Var credit, Var draws) const;
  Var orthogonal_squared_error(Var credit, Var squared_estimate) const;

  Dims shape_;
  DType dtype_;
  std::optional<Rows> rows_;
  NoiseKind kind_;
  std::int64_t count_;
  Columns columns_;
  Tensor pattern_ = {};  // of Hadamard noise: [count, elements of a row]
};

/// Returns how many elements of such values vary together, those of one row.
Dim row_width(const Dims& shape, const std::optional<Rows>& rows);

}  // namespace antichain::likelihood
