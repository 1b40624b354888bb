#include "antichain/engines/likelihood/noise_spread.h"

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::likelihood {

namespace {

Var lower_triangle(Var matrix) {
  const Var numbers = iota(matrix.graph(), DType::i64, matrix.dim(0));
  return select(less_equal(expand_dims(numbers, 0), expand_dims(numbers, 1)), matrix, 0);
}

// x of x L = b, for lower triangular L and rows of b: the last element first.
Var solve_from_the_right(Var b, Var factor) {
  const Var lower = lower_triangle(factor);
  const Dim width = factor.dim(0);
  const Var units = one_hot(iota(b.graph(), DType::i64, width), width, b.dtype());
  const auto one_column = [](Var, const Vars& x, const Vars& at) -> StepResult {
    const Var known = sum(x[0] * at[1], {1});
    const Var next = (at[0] - known) / sum(at[1] * at[2]);
    return {{x[0] + expand_dims(next, 1) * at[2]}};
  };
  return chain({zeros_like(b)}, {transpose(b), transpose(lower), units}, one_column,
               {.reverse = true})
      .last[0];
}

}  // namespace

Var spread_noise(const Site& site, Var spread, Var noise, double sigma) {
  if (!spread.valid()) {
    return sigma * noise;
  }
  return site.has_factor ? matmul(noise, lower_triangle(spread), {.transpose_b = true})
                         : exp(spread) * noise;
}

Var unspread(const Site& site, Var spread, Var gradient, double sigma) {
  if (!spread.valid()) {
    return gradient * (1 / sigma);
  }
  if (!site.has_factor) {
    return gradient / exp(spread);
  }
  const Dim width = spread.dim(0);
  const Dims& shape = gradient.shape();
  const Var rows = reshape(gradient, {numel(Dims(shape.begin(), shape.end() - 1)), width});
  return reshape(solve_from_the_right(rows, spread), shape);
}

Var spread_gradient(const Site& site, Var spread, Var sums) {
  return site.has_factor ? lower_triangle(transpose(solve_from_the_right(transpose(sums), spread)))
                         : sum_to(sums, spread.shape());
}

}  // namespace antichain::likelihood
