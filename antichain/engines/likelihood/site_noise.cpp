#include "antichain/engines/likelihood/site_noise.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "antichain/engines/likelihood/copy_sums.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"

namespace antichain::likelihood {

namespace {

// Beyond, the pattern alone would fill the memory; such values get independent signs.
constexpr std::int64_t kMostPatternElements = std::int64_t{1} << 25;

Var random_signs(Var key, const Dims& shape, DType dtype) {
  const Var is_plus = random_bernoulli(key.graph(), 0.5, shape, {key});
  return cast(is_plus, dtype) * 2 - 1;
}

// Of deviation 1: the scale is 1 / sqrt(2).
Draws laplace(Var key, const Dims& shape, DType dtype) {
  const Var centred = random_uniform(key.graph(), dtype, shape, {key}) - 0.5;
  const Var side = select(less(centred, 0), -ones_like(centred), 1);
  const Var distance = -log1p(maximum(-2 * abs(centred), -1 + 1e-7));
  return {.noise = side * distance * (1 / std::numbers::sqrt2),
          .score = side * std::numbers::sqrt2};
}

double squared_score(NoiseKind kind) { return kind == NoiseKind::laplace ? 2 : 1; }

Dims without(const Dims& shape, int axis) {
  Dims others = shape;
  others.erase(others.begin() + axis);
  return others;
}

Dims behind(Dim first, Dims rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

}  // namespace

SiteNoise::SiteNoise(Dims shape, DType dtype, std::optional<Rows> rows, NoiseKind kind,
                     std::int64_t count, Columns columns)
    : shape_(std::move(shape)),
      dtype_(dtype),
      rows_(rows),
      kind_(kind),
      count_(count),
      columns_(columns) {
  if (kind_ == NoiseKind::hadamard && columns.all > 0 &&
      columns.all * count_ <= kMostPatternElements) {
    pattern_ = hadamard_rows(count_, columns.first, width().constant(), dtype_);
  }
}

Dim SiteNoise::width() const { return row_width(shape_, rows_); }

Dim row_width(const Dims& shape, const std::optional<Rows>& rows) {
  return numel(rows ? without(shape, rows->axis) : shape);
}

Var SiteNoise::signs(Var key) const { return random_signs(key, shape_, dtype_); }

// Elements of rows, [copies, elements], where they are in the values: [copies, shape...] with 1 for
// the rows.
Var SiteNoise::spread_out(Var of_rows) const {
  Dims shape = shape_;
  if (rows_) {
    shape[static_cast<std::size_t>(rows_->axis)] = 1;
  }
  return reshape(of_rows, behind(of_rows.dim(0), shape));
}

Draws SiteNoise::draw(Var key, Var numbers) const {
  if (pattern_.defined()) {
    const Var rows = gather(constant(key.graph(), pattern_), numbers);
    const Var noise = spread_out(rows) * expand_dims(signs(key), 0);
    return {noise, noise};
  }
  const Var keys = fold_in(key, numbers);
  switch (kind_) {
    case NoiseKind::laplace: return laplace(keys, shape_, dtype_);
    case NoiseKind::gaussian: {
      const Var noise = random_normal(key.graph(), dtype_, shape_, {keys});
      return {noise, noise};
    }
    case NoiseKind::hadamard:
    case NoiseKind::rademacher: break;
  }
  const Var noise = random_signs(keys, shape_, dtype_);
  return {noise, noise};
}

Var SiteNoise::credit_of_rows(Var credit) const {
  if (!rows_) {
    return sum(credit, {1});
  }
  return rows_->is_own()
             ? credit
             : matmul(credit, cast(rows_->reach, credit.dtype()), {.transpose_b = true});
}

// Draws times the credit of their rows.
Var SiteNoise::credited(Var credit, Var draws) const {
  const Var own = cast(credit_of_rows(credit), draws.dtype());
  Dims shape(shape_.size(), 1);
  if (rows_) {
    shape[static_cast<std::size_t>(rows_->axis)] = shape_[static_cast<std::size_t>(rows_->axis)];
  }
  return reshape(own, behind(own.dim(0), shape)) * draws;
}

Var SiteNoise::weighted_sum(Var credit, Var draws) const {
  return sum_of_copies(credited(credit, draws));
}

// With common rows of a pattern the sum is a matrix product, in front of the signs.
Var SiteNoise::estimate(Var key, Var numbers, Var credit) const {
  if (!pattern_.defined()) {
    return weighted_draws(key, numbers, credit);
  }
  Var own = cast(credit_of_rows(credit), dtype_);
  if (!rows_) {
    own = expand_dims(own, 1);
  }
  const Var total = matmul(own, gather(constant(key.graph(), pattern_), numbers),
                           {.transpose_a = true});  // [rows, elements]
  if (!rows_) {
    return reshape(total, shape_) * signs(key);
  }
  const auto axis = static_cast<std::size_t>(rows_->axis);
  return move_axis(reshape(total, behind(shape_[axis], without(shape_, rows_->axis))), 0,
                   rows_->axis) *
         signs(key);
}

Var SiteNoise::weighted_draws(Var key, Var numbers, Var credit) const {
  return weighted_sum(credit, draw(key, numbers).score);
}

Var SiteNoise::project(Var key, Var numbers, Var values) const {
  ensure(rows_ && rows_->axis == 0 && shape_.size() == 2, "values of examples are projected");
  if (pattern_.defined()) {
    return matmul(gather(constant(key.graph(), pattern_), numbers), values * signs(key),
                  {.transpose_b = true});
  }
  return sum(draw(key, numbers).noise * expand_dims(values, 0), {2});
}

Var SiteNoise::moments(Var key, Var numbers, Var credit) const {
  const Draws draws = draw(key, numbers);
  const Dim width = shape_.back();
  const Var weighted = credited(credit, draws.score);
  const auto as_rows = [&](Var values) {
    const Dims rows(values.shape().begin() + 1, values.shape().end() - 1);
    return reshape(values, {values.dim(0), numel(rows), width});
  };
  const Var products = matmul(as_rows(weighted), as_rows(draws.noise), {.transpose_a = true});
  const Var by_copy = sum(as_rows(credited(credit, ones_like(draws.score))), {1, 2});
  const Var total = sum_of_copies(by_copy) / cast(dim_value(key.graph(), width), by_copy.dtype());
  const Var unit = one_hot(iota(key.graph(), DType::i64, width), width, draws.score.dtype());
  return sum_of_copies(products) - unit * total;
}

Var SiteNoise::spread(Var key, Var numbers, Var credit) const {
  const Draws draws = draw(key, numbers);
  return weighted_sum(credit, draws.noise * draws.score - 1);
}

double SiteNoise::relative_squared_error() const {
  const double draws = static_cast<double>(count_);
  if (pattern_.defined()) {
    const std::int64_t own = width().constant();
    return orthogonal_error(count_, columns_, own) * static_cast<double>(columns_.all) /
           static_cast<double>(own);
  }
  const double elements = static_cast<double>(columns_.all > 0 ? columns_.all : count_);
  return elements * squared_score(kind_) / draws;
}

Var SiteNoise::squared_error(Var credit, Var estimate) const {
  const Var wide = cast(credit_of_rows(credit), f64);
  const double draws = static_cast<double>(count_);
  const Var of_mean = sum(square(cast(estimate, f64)));
  if (pattern_.defined()) {
    return orthogonal_squared_error(wide, of_mean);
  }
  const Var elements = cast(dim_value(credit.graph(), width()), f64);
  const Var square_sum = sum(square(wide)) * elements * squared_score(kind_) / (draws * draws);
  if (count_ == 1) {
    return square_sum;
  }
  return maximum(square_sum - of_mean / draws, 0) * (draws / (draws - 1));
}

// The mean square of a copy's loss is the squared length of the gradient. Of rows that are enough,
// so that the columns are orthogonal, what the estimate does not explain of it is noise; as much
// of that is in each column of the estimate as in those that are left over.
Var SiteNoise::orthogonal_squared_error(Var credit, Var squared_estimate) const {
  const double draws = static_cast<double>(count_);
  const Var size = sum(square(credit)) * (1 / draws);
  const Var error = size * orthogonal_error(count_, columns_, width().constant());
  const std::int64_t left_over = count_ - 1 - columns_.all;
  const bool is_alone = columns_.all == width().constant();
  if (!std::has_single_bit(static_cast<std::uint64_t>(count_)) || left_over < 1 || !is_alone) {
    return error;
  }
  const Var constant_part = sum(square(mean(credit, {0})));
  const double share = static_cast<double>(columns_.all) / static_cast<double>(left_over);
  return error + maximum(size - constant_part - squared_estimate, 0) * share;
}

}  // namespace antichain::likelihood
